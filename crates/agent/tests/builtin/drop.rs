//! Work that nobody waits for any more.

use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use copydesk_forge::{Entry, Kind, MemoryTree, Tree, Workspace};
use tokio::sync::Notify;

use crate::desk;

/// A tree in which reading a file waits until it is let go on.
struct Gate {
    tree: MemoryTree,
    reads: AtomicUsize,
    reached: Notify,
    go_on: Mutex<Receiver<()>>,
}

impl Tree for Gate {
    fn entry(&self, path: &str) -> io::Result<Option<Entry>> {
        self.tree.entry(path)
    }

    fn read(&self, path: &str) -> io::Result<Option<Vec<u8>>> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        self.reached.notify_one();
        self.go_on.lock().unwrap().recv().map_err(io::Error::other)?;
        self.tree.read(path)
    }

    fn list(&self, folder: &str) -> io::Result<Vec<String>> {
        self.tree.list(folder)
    }

    fn folder(&self, folder: &str) -> io::Result<Vec<(String, Kind)>> {
        self.tree.folder(folder)
    }
}

fn gate() -> (Arc<Gate>, Sender<()>) {
    let (let_go_on, go_on) = channel();
    let tree = MemoryTree::of((0..50).map(|number| (format!("docs/{number:02}.md"), "plain")));
    let gate = Gate { tree, reads: AtomicUsize::new(0), reached: Notify::new(), go_on: Mutex::new(go_on) };
    (Arc::new(gate), let_go_on)
}

#[test]
fn a_dropped_editor_stops_after_the_file_it_is_at() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (gate, let_go_on) = gate();
    let workspace = Workspace::new(gate.clone(), Arc::new(|_| Ok(())));
    runtime.block_on(async {
        tokio::select! {
            _ = desk::edit_workspace(workspace, 100, "fix typos") => panic!("it cannot end yet"),
            () = gate.reached.notified() => {}
        }
    });
    (0..50).for_each(|_| let_go_on.send(()).unwrap());
    // Waits for work on other threads.
    drop(runtime);
    assert_eq!(gate.reads.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_repository_that_cannot_be_read_is_tried_again_later() {
    let (gate, let_go_on) = gate();
    drop(let_go_on);
    let result = desk::edit_workspace(Workspace::new(gate, Arc::new(|_| Ok(()))), 100, "fix typos").await;
    assert!(matches!(result, Err(copydesk_agent::EditFailure::Retry(why)) if why.contains("cannot be read")));
}

#[tokio::test]
async fn a_chore_stops_at_the_first_file_that_is_too_many() {
    let (gate, let_go_on) = gate();
    (0..1_000).for_each(|_| let_go_on.send(()).unwrap());
    let workspace = Workspace::new(gate.clone(), Arc::new(|_| Ok(())));
    let result = desk::edit_workspace(workspace, 3, "Replace \"plain\" with \"simple\"").await;
    let Err(copydesk_agent::EditFailure::Refused(sentence)) = result else { panic!() };
    assert_eq!(sentence, "This would change more than 3 files; limit it to a folder, or raise `limits.changed_files`.");
    // Of 50 pages: the text of each, and what is below it when it is written.
    let reads = gate.reads.load(Ordering::SeqCst);
    assert!(reads < 20, "{reads}");
}
