//! How fast views come from one network, for collectors that ask for no key.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use copydesk_domain::Timestamp;

/// Networks that are remembered at most; one that was quiet for a minute need not be.
const NETWORKS: usize = 100_000;
const MINUTE: Duration = Duration::from_secs(60);

/// Lets each network tell of so many views a minute, all at once if it likes. In memory, and never written down.
pub(super) struct Networks {
    per_minute: u32,
    used: Mutex<HashMap<IpAddr, Used>>,
}

/// How much of its minute a network has used up, and when that was so.
#[derive(Debug, Clone, Copy)]
struct Used {
    views: f64,
    at: Timestamp,
}

impl Networks {
    /// 0 is no limit.
    pub(super) fn new(per_minute: u32) -> Self {
        Self { per_minute, used: Mutex::default() }
    }

    /// Lets one view in, or says in how many seconds another can come.
    pub(super) fn admit(&self, reader: Option<IpAddr>, now: Timestamp) -> Result<(), u64> {
        let Some(reader) = reader.filter(|_| self.per_minute > 0) else { return Ok(()) };
        let (most, a_second) = (f64::from(self.per_minute), f64::from(self.per_minute) / MINUTE.as_secs_f64());
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.len() >= NETWORKS {
            used.retain(|_, used| now.since(used.at) < MINUTE);
            if used.len() >= NETWORKS {
                used.clear();
            }
        }
        let used = used.entry(network(reader)).or_insert(Used { views: 0.0, at: now });
        let left = (used.views - now.since(used.at).as_secs_f64() * a_second).max(0.0);
        *used = Used { views: left, at: now };
        if left + 1.0 > most {
            return Err(((left + 1.0 - most) / a_second).ceil().max(1.0) as u64);
        }
        used.views += 1.0;
        Ok(())
    }
}

/// What somebody can have of addresses without trouble: 256 of IPv4, or a site's /48 of IPv6.
fn network(reader: IpAddr) -> IpAddr {
    match reader.to_canonical() {
        IpAddr::V4(reader) => IpAddr::V4(Ipv4Addr::from_bits(reader.to_bits() & !0xff)),
        IpAddr::V6(reader) => IpAddr::V6(Ipv6Addr::from_bits(reader.to_bits() >> 80 << 80)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_so_many_a_minute_and_others_have_their_own() {
        let networks = Networks::new(60);
        let at = Timestamp::from_millis;
        let from = |text: &str, now| networks.admit(Some(text.parse().unwrap()), at(now));
        for last in 0..60 {
            assert_eq!(from(&format!("192.0.2.{last}"), 0), Ok(()));
        }
        assert_eq!(from("192.0.2.200", 0), Err(1));
        assert_eq!(from("192.0.3.1", 0), Ok(()), "the next network");
        assert_eq!(from("192.0.2.200", 999), Err(1));
        assert_eq!(from("192.0.2.200", 1000), Ok(()), "one a second comes free");
        assert_eq!(from("192.0.2.200", 1000), Err(1));
        assert_eq!(from("192.0.2.1", 61_000), Ok(()));
        assert_eq!(network("2001:db8:1:2::1".parse().unwrap()), network("2001:db8:1:ffff::9".parse().unwrap()));
        assert_ne!(network("2001:db8:1::1".parse().unwrap()), network("2001:db8:2::1".parse().unwrap()));
        assert_eq!(Networks::new(0).admit(Some([1, 2, 3, 4].into()), at(0)), Ok(()));
    }
}
