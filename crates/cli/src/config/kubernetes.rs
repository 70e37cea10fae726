//! Kubernetes tells every container of the services beside it. One called `copydesk` makes variables that begin like ours.

use std::ffi::OsStr;
use std::net::IpAddr;

/// Whether a variable is one of those, by its name and its value: `COPYDESK_PORT=8080` is somebody's mistake.
pub(super) fn is_service_link(name: &OsStr, value: &OsStr) -> bool {
    let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { return false };
    let Some(name) = name.strip_prefix("COPYDESK_") else { return false };
    match name {
        "SERVICE_HOST" => value.parse::<IpAddr>().is_ok(),
        "SERVICE_PORT" => is_port(value),
        "PORT" => is_address(value),
        _ => match (name.strip_prefix("SERVICE_PORT_"), name.strip_prefix("PORT_")) {
            (Some(port), _) => is_name(port) && is_port(value),
            (_, Some(rest)) => is_legacy(rest, value),
            _ => false,
        },
    }
}

/// What follows `COPYDESK_PORT_`: `80_TCP` and `80_TCP_ADDR`, `_PORT`, `_PROTO`.
fn is_legacy(rest: &str, value: &str) -> bool {
    let mut parts = rest.split('_');
    let (Some(port), Some(protocol)) = (parts.next(), parts.next()) else { return false };
    let right = match (parts.next(), parts.next()) {
        (None, _) => is_address(value),
        (Some("ADDR"), None) => value.parse::<IpAddr>().is_ok(),
        (Some("PORT"), None) => value == port,
        (Some("PROTO"), None) => value == protocol.to_ascii_lowercase(),
        _ => false,
    };
    right && is_port(port) && matches!(protocol, "TCP" | "UDP" | "SCTP")
}

fn is_address(value: &str) -> bool {
    matches!(value.split_once("://"), Some(("tcp" | "udp" | "sctp", address)) if !address.is_empty())
}

fn is_port(value: &str) -> bool {
    value.parse::<u16>().is_ok_and(|port| port > 0)
}

fn is_name(port: &str) -> bool {
    !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}
