//! Calls of one answer that change nothing run at once, and nobody can see it.

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use copydesk_agent::{EditFailure, Provider};
use copydesk_forge::{Entry, Kind, MemoryTree, Tree, Workspace};
use serde_json::{Value, json};

use crate::desk::{Pages, editor, round_over, text};
use crate::stub::{self, Call, Stub, finish, openai};

/// Long enough that only what never happens is given up.
const PATIENCE: Duration = Duration::from_secs(30);

/// A repository in which readers meet: some wait in the middle of reading until others have come.
struct Meeting {
    files: MemoryTree,
    readers: Mutex<Readers>,
    moved: Condvar,
    /// How many have to be there at once before anybody goes on.
    wanted: usize,
}

#[derive(Default)]
struct Readers {
    inside: usize,
    most: usize,
    done: HashSet<String>,
}

impl Meeting {
    fn new(wanted: usize) -> Arc<Self> {
        let paths = (0..12).map(|at| format!("docs/p{at}.md"));
        let pages = paths.map(|path| (path.clone(), format!("# At {path}\n")));
        let (pages, more) = (pages.collect::<Vec<_>>(), [("docs/first.md", "# First\n"), ("docs/a.md", "Old text.\n")]);
        let all = pages.iter().map(|(path, text)| (path.as_str(), text.as_str())).chain(more);
        let files = MemoryTree::of(all).with("docs/broken.md", Kind::File, "x");
        Arc::new(Self { files, readers: Mutex::default(), moved: Condvar::new(), wanted })
    }

    fn workspace(self: &Arc<Self>) -> Workspace {
        Workspace::new(self.clone(), Arc::new(|_| Ok(())))
    }

    /// Waits until it is so.
    fn wait_until(&self, so: impl Fn(&Readers) -> bool) -> io::Result<()> {
        let readers = self.readers.lock().unwrap();
        let waited = self.moved.wait_timeout_while(readers, PATIENCE, |readers| !so(readers)).unwrap();
        if waited.1.timed_out() { Err(io::Error::other("nobody came")) } else { Ok(()) }
    }

    fn change(&self, change: impl FnOnce(&mut Readers)) {
        change(&mut self.readers.lock().unwrap());
        self.moved.notify_all();
    }
}

impl Tree for Meeting {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        self.files.entry(path)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        if path == "docs/broken.md" {
            return Err(io::Error::other("a bad disk"));
        }
        self.change(|readers| {
            readers.inside += 1;
            readers.most = readers.most.max(readers.inside);
        });
        if path == "docs/first.md" {
            self.wait_until(|readers| readers.done.contains("docs/p1.md"))?;
        }
        self.wait_until(|readers| readers.most >= self.wanted)?;
        self.change(|readers| {
            readers.inside -= 1;
            readers.done.insert(path.to_owned());
        });
        self.files.read(path)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.files.list(folder)
    }

    fn folder(&self, folder: &str) -> io::Result<Vec<(String, Kind)>> {
        self.files.folder(folder)
    }
}

fn read(id: &'static str, path: &str) -> Call<'static> {
    (id, "read_file", json!({ "path": path }))
}

/// What the model was told of its calls, in the last request.
fn results(stub: &Stub) -> Vec<String> {
    let body = stub.asked().last().unwrap().body.clone();
    let is_result = |message: &&Value| message["role"] == "tool";
    let messages = body["messages"].as_array().unwrap().iter().filter(is_result);
    messages.map(|message| message["content"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn four_calls_look_at_once_and_no_more() {
    let ids: Vec<String> = (0..12).map(|at| format!("c{at}")).collect();
    let calls: Vec<Call<'_>> = ids
        .iter()
        .enumerate()
        .map(|(at, id)| (id.as_str(), "read_file", json!({ "path": format!("docs/p{at}.md") })))
        .collect();
    let stub = Stub::new([openai("", &calls), openai("", &[finish("")])]).await;
    let (meeting, pages) = (Meeting::new(4), Pages::with_prompt("Go."));
    round_over(meeting.workspace(), &editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    assert_eq!(meeting.readers.lock().unwrap().most, 4);
    let told = results(&stub);
    assert_eq!(told.len(), 12);
    for (at, told) in told.iter().enumerate() {
        assert!(told.contains(&format!("# At docs/p{at}.md\n")), "{at}: {told}");
    }
}

/// The first call can only end after the second.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_told_is_in_the_order_of_the_calls() {
    let calls = [read("c1", "docs/first.md"), read("c2", "docs/p1.md"), ("c3", "history", json!({}))];
    let stub = Stub::new([openai("", &calls), openai("", &[finish("")])]).await;
    let pages = Pages::with_prompt("Go.");
    round_over(Meeting::new(1).workspace(), &editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    let told = results(&stub);
    assert!(told[0].contains("# First") && told[1].contains("# At docs/p1.md"), "{told:?}");
    assert!(told[2].contains("there is no past here"), "{told:?}");
    let events = pages.told.lock().unwrap();
    let tools =
        events.iter().filter(|(kind, _)| kind == "tool_call").map(|(_, data)| data["arguments"]["path"].clone());
    assert_eq!(tools.collect::<Vec<_>>(), [json!("docs/first.md"), json!("docs/p1.md"), Value::Null]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_writes_waits_and_is_waited_for() {
    let calls = [
        read("c1", "docs/a.md"),
        read("c2", "docs/p1.md"),
        stub::edit("c3", "Old", "New"),
        read("c4", "docs/a.md"),
        ("c5", "search", json!({ "pattern": "New text", "files": "a.md" })),
        ("c6", "show_diff", json!({})),
    ];
    let stub = Stub::new([openai("", &calls), openai("", &[finish("T")])]).await;
    let pages = Pages::with_prompt("Go.");
    let edited = round_over(Meeting::new(1).workspace(), &editor(&stub, Provider::OpenAi), &pages).await.unwrap();
    assert_eq!(text(&edited, "docs/a.md"), "New text.\n");
    let told = results(&stub);
    assert!(told[0].contains("Old text.") && told[3].contains("New text."), "{told:?}");
    assert!(told[4].contains("docs/a.md:1: New text.") && told[5].contains("+New text."), "{told:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repository_that_cannot_be_read_is_tried_again_later() {
    let calls = [read("c1", "docs/p1.md"), read("c2", "docs/broken.md"), read("c3", "docs/p2.md")];
    let stub = Stub::new([openai("", &calls)]).await;
    let pages = Pages::with_prompt("Go.");
    let failed = round_over(Meeting::new(1).workspace(), &editor(&stub, Provider::OpenAi), &pages).await;
    assert!(matches!(failed, Err(EditFailure::Retry(_))));
}
