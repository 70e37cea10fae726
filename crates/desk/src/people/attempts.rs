//! Wrong passwords: each makes the next one from there wait, and nobody else.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use copydesk_domain::Timestamp;

/// Wrong tries that are free: of one account from one network, and of all accounts from one network.
const FREE_OF_ACCOUNT: u32 = 5;
const FREE_OF_NETWORK: u32 = 30;
/// How long the next try waits after each further one; the last again and again.
const WAITS: [u64; 3] = [10, 60, 300];
/// After so long without a try all is forgotten.
const FORGOTTEN: Duration = Duration::from_secs(3600);
/// Places that are remembered; beyond that, those tried longest ago are forgotten.
const MOST: usize = 50_000;

/// Who tried from where. Cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Attempts(Arc<Mutex<HashMap<Place, Tries>>>);

/// An account from a network, or a network.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    account: Option<String>,
    network: IpAddr,
}

#[derive(Debug, Clone, Copy)]
struct Tries {
    wrong: u32,
    last: Timestamp,
}

/// Where a try comes from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin {
    /// A network, as far as it is known. All who guess from there wait for each other.
    Network(Option<IpAddr>),
    /// Something that somebody has for themselves, such as a session: only it waits.
    Own,
}

/// One try, which counts as wrong until it was right.
pub(super) struct Attempt {
    all: Attempts,
    at: Timestamp,
    /// Each with what was known of it before.
    places: Vec<(Place, Option<Tries>)>,
}

impl Attempts {
    /// Begins a try, or says for how many seconds it has to wait.
    pub(super) fn begin(&self, account: &str, origin: Origin, now: Timestamp) -> Result<Attempt, u64> {
        let unknown = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let account = Some(account.to_owned());
        let places = match origin {
            Origin::Own => vec![(Place { account, network: unknown }, FREE_OF_ACCOUNT)],
            Origin::Network(address) => {
                let network = network_of(address.unwrap_or(unknown));
                let all = (Place { account: None, network }, FREE_OF_NETWORK);
                vec![(Place { account, network }, FREE_OF_ACCOUNT), all]
            }
        };
        let mut tried = self.lock();
        let waits = places.iter().map(|(place, free)| wait(tried.get(place), *free, now));
        let wait = waits.max().unwrap_or_default();
        if wait > 0 {
            return Err(wait);
        }
        make_room(&mut tried, now);
        let begun = places.into_iter().map(|(place, _)| {
            let before = tried.get(&place).copied().filter(|tries| now < tries.last.plus(FORGOTTEN));
            let wrong = before.map_or(0, |tries| tries.wrong).saturating_add(1);
            tried.insert(place.clone(), Tries { wrong, last: now });
            (place, before)
        });
        let places = begun.collect();
        Ok(Attempt { all: self.clone(), at: now, places })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Place, Tries>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attempt {
    pub(super) fn was_right(self) {
        let mut tried = self.all.lock();
        for (place, _) in &self.places {
            match (&place.account, tried.get_mut(place)) {
                (Some(_), _) => drop(tried.remove(place)),
                (None, Some(tries)) => tries.wrong = tries.wrong.saturating_sub(1),
                (None, None) => {}
            }
        }
    }

    /// Nobody looked at the password: it counts for nothing.
    pub(super) fn was_none(self) {
        let mut tried = self.all.lock();
        for (place, before) in &self.places {
            let Some(tries) = tried.get_mut(place) else { continue };
            tries.wrong = tries.wrong.saturating_sub(1);
            // Unless there was another meanwhile, it was the one before that was the last.
            if let Some(before) = before.filter(|_| tries.last == self.at) {
                tries.last = before.last;
            }
        }
    }
}

fn wait(tries: Option<&Tries>, free: u32, now: Timestamp) -> u64 {
    let Some(tries) = tries.filter(|tries| now < tries.last.plus(FORGOTTEN)) else { return 0 };
    let Some(beyond) = tries.wrong.checked_sub(free) else { return 0 };
    let pause = WAITS[(beyond as usize).min(WAITS.len() - 1)];
    let until = tries.last.plus(Duration::from_secs(pause));
    u64::try_from(until.as_millis() - now.as_millis()).unwrap_or(0).div_ceil(1000)
}

fn make_room(tried: &mut HashMap<Place, Tries>, now: Timestamp) {
    if tried.len() < MOST {
        return;
    }
    tried.retain(|_, tries| now < tries.last.plus(FORGOTTEN));
    if tried.len() >= MOST {
        let mut times: Vec<_> = tried.values().map(|tries| tries.last).collect();
        let middle = times.len() / 2;
        let middle = *times.select_nth_unstable(middle).1;
        tried.retain(|_, tries| tries.last > middle);
    }
}

/// The network of an address: whoever has one address of it usually has the others.
fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(Ipv4Addr::from_bits(address.to_bits() & !0xff)),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !((1 << 64) - 1))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_millis(seconds * 1000)
    }

    fn at_address(address: &str) -> Origin {
        Origin::Network(Some(address.parse().unwrap()))
    }

    fn here() -> Origin {
        at_address("192.0.2.1")
    }

    #[test]
    fn wrong_tries_wait_longer_each_time_and_only_there() {
        let attempts = Attempts::default();
        for _ in 0..5 {
            assert!(attempts.begin("ada", here(), at(0)).is_ok());
        }
        assert_eq!(attempts.begin("ada", here(), at(0)).err(), Some(10));
        assert_eq!(attempts.begin("ada", at_address("192.0.2.99"), at(4)).err(), Some(6), "the same network");
        assert!(attempts.begin("ada", at_address("198.51.100.1"), at(4)).is_ok(), "another one");
        assert!(attempts.begin("bob", here(), at(4)).is_ok(), "another account");
        assert!(attempts.begin("ada", here(), at(10)).is_ok());
        assert_eq!(attempts.begin("ada", here(), at(11)).err(), Some(59));
        assert!(attempts.begin("ada", here(), at(70)).is_ok());
        assert_eq!(attempts.begin("ada", here(), at(70)).err(), Some(300));
        assert!(attempts.begin("ada", here(), at(370)).is_ok());
        assert_eq!(attempts.begin("ada", here(), at(370)).err(), Some(300));
        assert!(attempts.begin("ada", here(), at(370 + 3600)).is_ok(), "forgotten");
    }

    #[test]
    fn a_right_one_makes_it_good() {
        let attempts = Attempts::default();
        for round in 0..50 {
            for _ in 0..4 {
                drop(attempts.begin("ada", here(), at(round * 4000)));
            }
            attempts.begin("ada", here(), at(round * 4000)).unwrap_or_else(|_| panic!("{round}")).was_right();
        }
    }

    #[test]
    fn what_nobody_looked_at_does_not_count() {
        let attempts = Attempts::default();
        for _ in 0..100 {
            attempts.begin("ada", here(), at(0)).unwrap_or_else(|_| panic!("nothing is held against them")).was_none();
        }
        (0..5).for_each(|_| drop(attempts.begin("ada", here(), at(0))));
        assert!(attempts.begin("ada", here(), at(0)).is_err());
    }

    #[test]
    fn what_is_somebodys_own_waits_for_nobody_else() {
        let attempts = Attempts::default();
        for n in 0..100 {
            assert!(attempts.begin(&format!("browser {n}"), Origin::Own, at(0)).is_ok(), "{n}");
        }
        for _ in 0..4 {
            assert!(attempts.begin("browser 7", Origin::Own, at(1)).is_ok());
        }
        assert_eq!(attempts.begin("browser 7", Origin::Own, at(1)).err(), Some(10));
        // One that nobody looked at does not begin the wait anew.
        attempts.begin("browser 7", Origin::Own, at(11)).unwrap_or_else(|_| panic!("waited for")).was_none();
        assert!(attempts.begin("browser 7", Origin::Own, at(11)).is_ok());
    }

    #[test]
    fn many_accounts_from_one_network_wait_too() {
        let attempts = Attempts::default();
        let taken = (0..100).filter(|n| attempts.begin(&n.to_string(), here(), at(0)).is_ok()).count();
        assert_eq!(taken, 30);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let attempts = Attempts::default();
        for n in 0..80_000_u32 {
            let address = IpAddr::V4(Ipv4Addr::from_bits(n << 8));
            let _ = attempts.begin("ada", Origin::Network(Some(address)), at(i64::from(n)));
        }
        assert!(attempts.lock().len() <= MOST + 2);
    }
}
