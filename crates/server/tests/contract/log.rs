//! What the server of a test on one thread logs.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;
use std::sync::Once;

use serde_json::Value;

thread_local! {
    static HEARD: RefCell<Option<Rc<RefCell<Vec<u8>>>>> = const { RefCell::new(None) };
}

/// Lets logging begin, for the whole program and before anything is logged: a subscriber that comes later may miss
/// lines while others run.
pub fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let subscriber = tracing_subscriber::fmt()
            .json()
            .with_env_filter("info,copydesk=trace,copydesk_desk=trace,copydesk_server=trace,copydesk_store=trace,copydesk_agent=trace,copydesk_forge=trace,reqwest=trace,hyper_util=trace,copydesk::trace=off")
            .with_writer(|| Ear)
            .finish();
        tracing::subscriber::set_global_default(subscriber).unwrap();
    });
}

/// Keeps what is logged on a thread that listens.
struct Ear;

impl Write for Ear {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        HEARD.with_borrow(|heard| heard.iter().for_each(|heard| heard.borrow_mut().extend_from_slice(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// All that this thread has logged since the listening began.
pub struct Log(Rc<RefCell<Vec<u8>>>);

impl Log {
    /// Listens until the end of the thread, and so of the test.
    pub fn listen() -> Self {
        let heard = Rc::<RefCell<Vec<u8>>>::default();
        HEARD.set(Some(heard.clone()));
        Self(heard)
    }

    pub fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }

    /// What was logged about answers.
    pub fn access(&self) -> Vec<Value> {
        let lines = self.text().lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).collect::<Vec<_>>();
        lines.into_iter().filter(|line| line["target"] == "copydesk::access").collect()
    }
}
