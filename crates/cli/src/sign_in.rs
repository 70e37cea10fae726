//! By whom people are let in beside by their passwords, as the configuration says.

use std::time::Duration;

use copydesk_desk::parse_network;
use copydesk_desk::people::oidc::{Oidc, OidcSettings};
use copydesk_desk::people::{NewUsers, SignIn, TrustedProxy};
use secrecy::ExposeSecret;

use crate::config::{self, Config};
use crate::failure::Failure;
use crate::secrets;

/// How long the provider may take to answer: so that several answers fit into the time of a request.
const PATIENCE: Duration = Duration::from_secs(8);

pub(crate) fn ways(config: &Config, public_url: &str) -> Result<SignIn, Failure> {
    let sign_in = &config.sign_in;
    let new_users = match sign_in.new_users {
        config::NewUsers::Refuse => NewUsers::Refused,
        config::NewUsers::WithoutProjects => NewUsers::WithoutProjects,
    };
    Ok(SignIn { proxy: proxy(config)?, oidc: oidc(config, public_url)?, oidc_only: sign_in.oidc_only, new_users })
}

fn proxy(config: &Config) -> Result<Option<TrustedProxy>, Failure> {
    let sign_in = &config.sign_in;
    let (Some(header), Some(proxies)) = (&sign_in.proxy_header, &sign_in.proxies) else { return Ok(None) };
    let networks = proxies.split(',').map(parse_network).collect::<Result<_, _>>();
    let networks = networks.map_err(|invalid| Failure::usage(format!("sign_in.proxies: {invalid}")))?;
    Ok(Some(TrustedProxy { header: header.clone(), networks }))
}

fn oidc(config: &Config, public_url: &str) -> Result<Option<Oidc>, Failure> {
    let sign_in = &config.sign_in;
    let (Some(issuer), Some(client_id)) = (&sign_in.oidc_issuer, &sign_in.oidc_client_id) else { return Ok(None) };
    let settings = OidcSettings {
        issuer: issuer.clone(),
        client_id: client_id.clone(),
        client_secret: sign_in.oidc_client_secret.as_ref().map(|secret| secret.expose_secret().into()),
        back: format!("{public_url}/sign-in/oidc/back"),
        patience: PATIENCE,
    };
    let wrong = |problem| Failure::usage(format!("sign_in.oidc_issuer: {problem}"));
    Oidc::new(settings, secrets::vault(config)).map(Some).map_err(wrong)
}
