use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

/// At least one of every kind that is refused.
const INSIDE: [&str; 48] = [
    "127.0.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "169.254.0.1",
    "169.254.169.254",
    "169.254.170.2",
    "100.64.0.1",
    "100.127.255.255",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.0.1",
    "192.0.0.192",
    "192.0.2.1",
    "192.88.99.1",
    "198.18.0.1",
    "198.19.255.255",
    "198.51.100.1",
    "203.0.113.1",
    "224.0.0.1",
    "239.255.255.255",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "fe80::1",
    "fec0::1",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
    "3fff::1",
    "2001::1",
    "100::1",
    "::7f00:1",
    "::ffff:127.0.0.1",
    "::ffff:10.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "64:ff9b::a9fe:a9fe",
    "64:ff9b:1::1",
    "2002:7f00:1::",
    "2002:a9fe:a9fe::1",
];

const OUTSIDE: [&str; 14] = [
    "1.1.1.1",
    "9.255.255.255",
    "11.0.0.0",
    "100.63.255.255",
    "100.128.0.0",
    "172.15.255.255",
    "172.32.0.0",
    "192.0.1.1",
    "223.255.255.255",
    "168.63.129.17",
    "2606:4700::1111",
    "2001:4860:4860::8888",
    "::ffff:1.1.1.1",
    "64:ff9b::101:101",
];

fn guard(allow: &str) -> Guard {
    Guard::new(AllowPrivate::parse(allow).unwrap())
}

fn url_of(scheme: &str, address: &str) -> String {
    if address.contains(':') { format!("{scheme}://[{address}]/hook") } else { format!("{scheme}://{address}/hook") }
}

#[test]
fn addresses_inside_are_refused_and_those_outside_are_not() {
    for address in INSIDE {
        assert!(guard("false").check(&url_of("https", address)).is_err(), "{address}");
        assert!(!guard("false").admits(address.parse().unwrap(), false), "{address}");
    }
    for address in OUTSIDE {
        assert!(guard("false").check(&url_of("https", address)).is_ok(), "{address}");
        assert!(guard("false").admits(address.parse().unwrap(), false), "{address}");
    }
}

#[test]
fn other_ways_to_write_an_address_change_nothing() {
    for host in ["2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.1.", "[::ffff:7f00:1]", "①27.0.0.1"] {
        assert!(guard("false").check(&format!("https://{host}/")).is_err(), "{host}");
    }
}

#[test]
fn the_configuration_allows_what_it_names_and_no_more() {
    let some = guard("10.1.0.0/16, 127.0.0.1, fd12::/16");
    for (address, allowed) in [
        ("10.1.2.3", true),
        ("::ffff:10.1.2.3", true),
        ("10.2.0.1", false),
        ("127.0.0.1", true),
        ("127.0.0.2", false),
        ("fd12::1", true),
        ("fd13::1", false),
        ("169.254.169.254", false),
    ] {
        assert_eq!(some.check(&url_of("https", address)).is_ok(), allowed, "{address}");
        assert_eq!(some.check(&url_of("http", address)).is_ok(), allowed, "{address}");
    }
    let all = guard("true");
    assert!(all.check("http://127.0.0.1:8080/x").is_ok() && all.check("http://[fd12::1]/").is_ok());
    for wrong in ["", "yes", "10.0.0.0/33", "10.0.0.0/8;::1"] {
        assert!(AllowPrivate::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn metadata_services_are_refused_whatever_is_allowed() {
    let networks = "169.254.0.0/16,100.64.0.0/10,168.63.129.16,192.0.0.0/24,::/0,169.254.169.254";
    for guard in [guard("false"), guard("true"), guard(networks)] {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "169.254.170.23",
            "169.254.0.23",
            "169.254.42.42",
            "100.100.100.200",
            "168.63.129.16",
            "192.0.0.192",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "fd00:c1::a9fe:a9fe",
            "fd00:42::42",
            "fe80::a9fe:a9fe",
            "::ffff:169.254.169.254",
            "::ffff:100.100.100.200",
            "::a9fe:a9fe",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "2002:a9fe:a9fe::1",
        ] {
            for scheme in ["https", "http"] {
                assert!(guard.check(&url_of(scheme, address)).is_err(), "{address}");
            }
            assert!(!guard.admits(address.parse().unwrap(), false), "{address}, as a name leads to it");
        }
    }
}

#[test]
fn without_encryption_only_where_the_configuration_says_so() {
    assert!(guard("false").check("http://example.com/").is_err());
    assert!(guard("true").check("http://1.1.1.1/").is_err());
    assert!(guard("10.0.0.0/8").check("http://1.1.1.1/").is_err());
    assert!(guard("1.1.1.1").check("http://1.1.1.1/").is_ok());
    assert!(guard("true").check("https://1.1.1.1/").is_ok());
}

#[test]
fn what_is_no_address_of_a_webhook_is_refused() {
    let long = format!("https://example.com/{}", "x".repeat(LONGEST_URL));
    for wrong in [
        "",
        "example.com",
        "ftp://example.com/",
        "file:///etc/passwd",
        "https://",
        "https://user@example.com/",
        "https://user:password@example.com/",
        "https://example.com/#x",
        &long,
    ] {
        let error = guard("true").check(wrong).unwrap_err().to_string();
        assert!(!error.contains("password@"), "{error}");
    }
    assert_eq!(guard("false").check("https://example.com").unwrap().as_str(), "https://example.com/");
}

/// A guard whose names lead to `addresses`, one list for each look.
fn looking(allow: &str, addresses: &'static [&'static [&'static str]]) -> Guard {
    let looks = AtomicUsize::new(0);
    let lookup = move |_: &str| {
        let look = looks.fetch_add(1, Ordering::SeqCst).min(addresses.len() - 1);
        Ok(addresses[look].iter().map(|address| address.parse().unwrap()).collect())
    };
    Guard::with_lookup(AllowPrivate::parse(allow).unwrap(), Arc::new(lookup))
}

async fn resolved(resolver: &Checked) -> Result<Vec<String>, String> {
    match resolver.resolve("hook.example".parse().unwrap()).await {
        Ok(addresses) => Ok(addresses.map(|address| address.ip().to_string()).collect()),
        Err(error) => Err(error.to_string()),
    }
}

#[tokio::test]
async fn a_name_gives_only_the_addresses_that_are_admitted() {
    let mixed: &[&[&str]] = &[&["10.0.0.1", "1.1.1.1", "::1"]];
    assert_eq!(resolved(&looking("false", mixed).resolver(false)).await.unwrap(), ["1.1.1.1"]);
    assert_eq!(resolved(&looking("10.0.0.0/8", mixed).resolver(false)).await.unwrap(), ["10.0.0.1", "1.1.1.1"]);
    assert_eq!(resolved(&looking("10.0.0.0/8", mixed).resolver(true)).await.unwrap(), ["10.0.0.1"], "plain");
    let inside = resolved(&looking("false", mixed).resolver(true)).await.unwrap_err();
    assert!(!inside.contains("10.0.0.1"), "what a name means inside is not told: {inside}");
    assert_eq!(resolved(&looking("true", &[&[]]).resolver(false)).await.unwrap_err(), inside);
}

#[tokio::test]
async fn a_name_that_turns_inwards_is_refused_from_then_on() {
    let resolver = looking("false", &[&["1.1.1.1"], &["127.0.0.1"]]).resolver(false);
    assert_eq!(resolved(&resolver).await.unwrap(), ["1.1.1.1"]);
    assert!(!resolved(&resolver).await.unwrap_err().contains("127.0.0.1"));
}
