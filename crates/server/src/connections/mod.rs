//! The connections that are open: how many there may be, of whom, and which of them gives way to a new one.

mod line;
mod stream;

pub(crate) use line::{Line, Phase};
pub(crate) use stream::LineStream;

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

/// How long a connection may be idle. Longer than proxies keep theirs, so that it is they who close them.
const IDLE_TIME: Duration = Duration::from_secs(75);
/// How long a client may take nothing of what it is sent.
const STALL_TIME: Duration = Duration::from_secs(30);
/// Whoever takes nothing for this long gives way to others, if nobody else does.
const STUCK: Duration = Duration::from_secs(10);
/// A head that takes longer than this is not that of somebody in a hurry: it comes in one piece otherwise.
const SLOW: Duration = Duration::from_secs(1);
/// How often it is looked whose time is up, at the most and at the least.
const LOOK: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// How long is waited before it is looked again whether somebody can give way.
const PAUSE: Duration = Duration::from_millis(50);

/// The bounds of connections.
#[derive(Debug, Clone)]
pub(crate) struct Bounds {
    /// Open at a time.
    pub(crate) all: usize,
    /// Of one address; none: as many as there may be.
    pub(crate) of_a_peer: Option<usize>,
    /// How long the head of a request may take.
    pub(crate) head_time: Duration,
}

/// The connections of a listener.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Inner>);

struct Inner {
    bounds: Bounds,
    open: Mutex<Open>,
    /// Woken when one has ended.
    freed: Notify,
}

#[derive(Default)]
struct Open {
    next: u64,
    lines: BTreeMap<u64, Entry>,
    peers: HashMap<IpAddr, usize>,
}

struct Entry {
    line: Arc<Line>,
    /// Whom it is counted for; none for proxies of ours, through which everybody comes.
    peer: Option<IpAddr>,
}

/// The place of a connection, until it is dropped.
pub(crate) struct Place {
    connections: Connections,
    number: u64,
    pub(crate) line: Arc<Line>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.lock().remove(self.number);
        self.connections.0.freed.notify_one();
    }
}

impl Connections {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self(Arc::new(Inner { bounds, open: Mutex::default(), freed: Notify::new() }))
    }

    /// Waits until another connection can be had.
    pub(crate) async fn room(&self) {
        loop {
            {
                let open = self.lock();
                if open.lines.len() < self.0.bounds.all || open.lines.values().any(|entry| entry.line.rank().is_some())
                {
                    return;
                }
            }
            // Somebody may become idle without telling.
            let _ = tokio::time::timeout(PAUSE, self.0.freed.notified()).await;
        }
    }

    /// Ends somebody for a new connection that the process has no file for, and waits a while for that.
    pub(crate) async fn make_room(&self) {
        {
            let mut open = self.lock();
            if let Some(other) = open.who_gives_way(None) {
                open.end(other);
            }
        }
        let _ = tokio::time::timeout(PAUSE, self.0.freed.notified()).await;
    }

    /// A place for a new connection. Others give way to it where they have to and can; none if the peer has all that one
    /// may have, and is using them. `is_proxy`: everybody comes from there, so it has no bound of its own.
    pub(crate) fn admit(&self, peer: IpAddr, is_proxy: bool) -> Option<Place> {
        let bounds = &self.0.bounds;
        let mut open = self.lock();
        let peer = (!is_proxy && bounds.of_a_peer.is_some()).then(|| network(peer));
        if let (Some(peer), Some(most)) = (peer, bounds.of_a_peer)
            && open.peers.get(&peer).is_some_and(|count| *count >= most)
        {
            let own = open.who_gives_way(Some(peer))?;
            open.end(own);
        }
        if open.lines.len() >= bounds.all
            && let Some(other) = open.who_gives_way(None)
        {
            open.end(other);
        }
        let (number, line) = (open.next, Arc::new(Line::new()));
        open.next += 1;
        open.lines.insert(number, Entry { line: line.clone(), peer });
        if let Some(peer) = peer {
            *open.peers.entry(peer).or_default() += 1;
        }
        drop(open);
        Some(Place { connections: self.clone(), number, line })
    }

    /// Ends those whose time is up, again and again.
    pub(crate) async fn watch(self) {
        let look = (self.0.bounds.head_time / 10).clamp(LOOK.0, LOOK.1);
        loop {
            tokio::time::sleep(look).await;
            let late = |(number, entry): (&u64, &Entry)| self.is_late(&entry.line).then_some(*number);
            let late: Vec<u64> = self.lock().lines.iter().filter_map(late).collect();
            late.into_iter().for_each(|number| self.lock().end(number));
        }
    }

    fn is_late(&self, line: &Line) -> bool {
        line.waited() > time_for(line.phase(), self.0.bounds.head_time) || line.stalled() > STALL_TIME
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.0.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Open {
    /// Who is missed the least, of all or of one peer. Of those alike, who has been so the longest.
    fn who_gives_way(&self, peer: Option<IpAddr>) -> Option<u64> {
        let of_peer = |(_, entry): &(&u64, &Entry)| peer.is_none() || entry.peer == peer;
        let ranked =
            self.lines.iter().filter(of_peer).filter_map(|(number, entry)| {
                Some((entry.line.rank()?, std::cmp::Reverse(entry.line.waited()), *number))
            });
        ranked.min().map(|(.., number)| number)
    }

    fn end(&mut self, number: u64) {
        if let Some(line) = self.remove(number) {
            line.end();
        }
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Line>> {
        let Entry { line, peer } = self.lines.remove(&number)?;
        if let Some(peer) = peer
            && let Some(count) = self.peers.get_mut(&peer)
        {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&peer);
            }
        }
        Some(line)
    }
}

impl Line {
    /// When it gives way, before those of a higher rank; none if it does not.
    fn rank(&self) -> Option<u8> {
        rank(self.phase(), self.waited(), self.stalled())
    }
}

/// How long a connection may be in a phase.
fn time_for(phase: Phase, head_time: Duration) -> Duration {
    match phase {
        Phase::Fresh | Phase::Head => head_time,
        Phase::Idle => IDLE_TIME,
        // Requests have a time limit of their own, and an answer takes as long as the client needs for it.
        Phase::Busy | Phase::StrangersBody | Phase::Sending => Duration::MAX,
    }
}

/// Who gives way first: whoever is slow, then whoever is idle, then whoever does not take the answer, then whoever has not
/// been heard, then strangers with a body. Nobody whose request is being answered.
fn rank(phase: Phase, waited: Duration, stalled: Duration) -> Option<u8> {
    match phase {
        Phase::Fresh | Phase::Head if waited > SLOW => Some(0),
        Phase::Idle => Some(1),
        _ if stalled > STUCK => Some(2),
        Phase::Fresh | Phase::Head => Some(3),
        Phase::StrangersBody => Some(4),
        Phase::Busy | Phase::Sending => None,
    }
}

/// Whom an address is counted for: itself, or the /64 that one customer has of IPv6.
fn network(peer: IpAddr) -> IpAddr {
    match peer {
        IpAddr::V4(_) => peer,
        IpAddr::V6(peer) => IpAddr::V6(Ipv6Addr::from_bits(peer.to_bits() & !u128::from(u64::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn connections(all: usize, of_a_peer: usize) -> Connections {
        Connections::new(Bounds { all, of_a_peer: Some(of_a_peer), head_time: Duration::from_secs(10) })
    }

    fn peer(last: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, last])
    }

    fn is_over(place: &Place) -> bool {
        place.line.ended().now_or_never().is_some()
    }

    #[test]
    fn idle_connections_give_way_before_those_that_were_not_heard_and_those_before_strangers() {
        let all = connections(4, 100);
        let places: Vec<_> = (0..4).map(|last| all.admit(peer(last), false).unwrap()).collect();
        for (place, phase) in places.iter().zip([Phase::Busy, Phase::StrangersBody, Phase::Head, Phase::Idle]) {
            place.line.enter(phase);
        }
        let mut later = Vec::new();
        for over in [3, 2, 1] {
            later.push(all.admit(peer(9), false).unwrap());
            later.last().unwrap().line.enter(Phase::Busy);
            assert!(is_over(&places[over]), "{over}");
            assert!(places[..over].iter().all(|place| !is_over(place)), "{over}");
        }
        assert!(!is_over(&places[0]), "a request that is being answered is not cut off");
    }

    #[test]
    fn an_answer_that_a_slow_client_still_takes_is_neither_late_nor_in_the_way() {
        let (no_time, long) = (Duration::ZERO, Duration::from_secs(1000));
        for phase in [Phase::Busy, Phase::Sending] {
            assert!(time_for(phase, SLOW) > long && rank(phase, long, STUCK).is_none());
            assert!(rank(Phase::Idle, no_time, no_time) < rank(phase, long, long), "idle ones go first");
            assert!(rank(phase, no_time, long) < rank(Phase::Fresh, no_time, no_time));
        }
    }

    #[tokio::test]
    async fn who_waits_for_a_file_gets_that_of_an_idle_connection() {
        let all = connections(9, 9);
        let places = [Phase::Busy, Phase::Idle].map(|phase| {
            let place = all.admit(peer(1), false).unwrap();
            place.line.enter(phase);
            place
        });
        all.make_room().await;
        assert!(!is_over(&places[0]) && is_over(&places[1]));
    }

    #[test]
    fn a_peer_has_only_its_own_connections_and_a_proxy_has_no_bound() {
        let all = connections(10, 2);
        let busy = |place: Place| {
            place.line.enter(Phase::Busy);
            place
        };
        let (one, two) = (busy(all.admit(peer(1), false).unwrap()), busy(all.admit(peer(1), false).unwrap()));
        assert!(all.admit(peer(1), false).is_none(), "both are in use");
        let other = all.admit(peer(2), false).unwrap();
        one.line.enter(Phase::Idle);
        let _three = busy(all.admit(peer(1), false).unwrap());
        assert!(is_over(&one) && !is_over(&two) && !is_over(&other));
        let proxied: Vec<_> = (0..5).map(|_| busy(all.admit(peer(3), true).unwrap())).collect();
        assert!(proxied.iter().all(|place| !is_over(place)));
        drop(two);
        assert!(all.admit(peer(1), false).is_some(), "its place is free again");
    }

    #[test]
    fn a_customer_has_one_bound_however_many_addresses() {
        let text = |text: &str| network(text.parse().unwrap());
        assert_eq!(text("2001:db8:1:2::1"), text("2001:db8:1:2:ffff::9"));
        assert_ne!(text("2001:db8:1:2::1"), text("2001:db8:1:3::1"));
        assert_ne!(text("192.0.2.1"), text("192.0.2.2"));
    }
}
