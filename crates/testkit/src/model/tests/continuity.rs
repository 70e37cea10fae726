use super::*;
use crate::model::continuity::compare;

fn user(text: &str) -> Item {
    Item::User(text.to_owned())
}

fn call(id: &str) -> Item {
    Item::Call { id: id.to_owned(), name: "read_file".to_owned(), arguments: json!({"path": id}) }
}

fn result(id: &str, text: &str) -> Item {
    Item::Result { id: id.to_owned(), text: text.to_owned() }
}

fn long() -> Vec<Item> {
    let mut talk = vec![user("Fix it."), Item::Assistant("First.".to_owned())];
    for id in ["a", "b", "c"] {
        talk.extend([call(id), result(id, "a long answer of a tool")]);
    }
    talk
}

#[track_caller]
fn goes_on(now: &[Item], dropped: usize, shortened: usize, added: usize) {
    let (continuation, _) = compare(&long(), now).unwrap();
    assert_eq!(continuation, Continuation { dropped, shortened, added });
}

#[track_caller]
fn breaks(now: &[Item], words: &str) {
    let problem = compare(&long(), now).unwrap_err();
    assert!(problem.contains(words), "{problem}");
}

#[test]
fn the_same_and_more_goes_on() {
    let mut now = long();
    goes_on(&now, 0, 0, 0);
    now.extend([call("d"), result("d", "more"), user("Go on.")]);
    goes_on(&now, 0, 0, 3);
    assert!(compare(&[], &now).is_ok());
}

#[test]
fn answers_of_tools_may_become_shorter_but_not_other() {
    let mut now = long();
    now[3] = result("a", "left out");
    goes_on(&now, 0, 1, 0);
    now[3] = result("a", &"a much longer answer".repeat(20));
    breaks(&now, "it holds in another place");
}

#[test]
fn old_pairs_may_be_dropped() {
    let mut now = long();
    now.drain(1..4);
    goes_on(&now, 3, 0, 0);
    now.insert(1, user("Some steps are left out."));
    goes_on(&now, 3, 0, 0);
    now.remove(1);
    now[0] = user("Fix it.\n\nSome steps are left out.");
    goes_on(&now, 3, 0, 0);
}

#[test]
fn messages_of_the_user_may_be_joined_over_a_gap_and_at_the_end() {
    let before = [user("Fix it."), Item::Assistant("What?".to_owned()), user("The page."), call("a"), result("a", "x")];
    let now = [user("Fix it.\n\n(left out)\n\nThe page."), call("a"), result("a", "x")];
    assert_eq!(compare(&before, &now).unwrap().0, Continuation { dropped: 1, shortened: 0, added: 0 });
    let now = [user("Fix it.\n\nYour answer was empty.")];
    assert_eq!(compare(&[user("Fix it.")], &now).unwrap().0, Continuation { dropped: 0, shortened: 0, added: 1 });
}

#[test]
fn what_the_user_said_stays() {
    breaks(&long()[1..], "it should still hold the user's \"Fix it.\"");
    let mut now = long();
    now[0] = user("Break it.");
    breaks(&now, "it should still hold the user's");
    now[0] = user("Fix it. It is noon.");
    breaks(&now, "the user's earlier words were changed");
}

#[test]
fn the_model_may_say_the_same_twice() {
    let mut now = long();
    now.push(Item::Assistant("First.".to_owned()));
    goes_on(&now, 0, 0, 1);
}

#[test]
fn nothing_changes_its_place() {
    let mut now = long();
    let first = now.remove(2);
    now.push(first);
    breaks(&now, "it holds in another place the call");
}
