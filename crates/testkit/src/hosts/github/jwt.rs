//! The token by which a GitHub App shows that a request is its own.

use aws_lc_rs::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::hosts::exchange::Request;
use crate::hosts::state::State;

/// How far ahead a signed token may end, in seconds.
const LONGEST: i64 = 600;

/// The App that signed a request, by its place; or GitHub's words for why not, with their status.
pub(super) fn signed_by(request: &Request, state: &State) -> Result<usize, (u16, &'static str)> {
    const UNREADABLE: (u16, &str) = (401, "A JSON web token could not be decoded");
    let (scheme, token) = request.authorization().ok_or(UNREADABLE)?;
    if scheme != "bearer" {
        return Err(UNREADABLE);
    }
    let mut parts = token.split('.');
    let (Some(head), Some(claims), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err(UNREADABLE);
    };
    let read = |part: &str| {
        let bytes = URL_SAFE_NO_PAD.decode(part).map_err(|_| UNREADABLE)?;
        serde_json::from_slice::<Value>(&bytes).map_err(|_| UNREADABLE)
    };
    if read(head)?["alg"] != "RS256" {
        return Err(UNREADABLE);
    }
    let claims_read = read(claims)?;
    let issuer = match &claims_read["iss"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return Err((401, "'Issuer' claim ('iss') must be an Integer")),
    };
    let app = state.apps.iter().position(|app| app.id.to_string() == issuer || app.client_id == issuer);
    let app = app.ok_or((404, "Integration not found"))?;
    let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &state.apps[app].public_key);
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| UNREADABLE)?;
    let signed = &token[..head.len() + 1 + claims.len()];
    key.verify(signed.as_bytes(), &signature).map_err(|_| UNREADABLE)?;
    check_times(&claims_read, state.now().as_millis().div_euclid(1000))?;
    Ok(app)
}

/// The rules for when a signed token holds.
fn check_times(claims: &Value, now: i64) -> Result<(), (u16, &'static str)> {
    const ENDED: &str = "'Expiration time' claim ('exp') must be a numeric value representing the future time at which the assertion expires";
    const UNISSUED: &str =
        "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued";
    match (claims["iat"].as_i64(), claims["exp"].as_i64()) {
        (_, None) => Err((401, ENDED)),
        (_, Some(ends)) if ends <= now => Err((401, ENDED)),
        (_, Some(ends)) if ends > now + LONGEST => {
            Err((401, "'Expiration time' claim ('exp') is too far in the future"))
        }
        (None, _) => Err((401, UNISSUED)),
        (Some(issued), _) if issued > now => Err((401, UNISSUED)),
        _ => Ok(()),
    }
}
