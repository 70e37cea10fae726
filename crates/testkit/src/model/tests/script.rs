use super::*;
use crate::model::request::{Mark, PastReply};

#[track_caller]
fn refuses(text: &str, words: &str) {
    let problem = Script::parse(text).unwrap_err();
    assert!(problem.contains(words), "{problem}");
}

#[test]
fn a_script_is_read() {
    let script = Script::parse(
        r#"
        context_limit = 500
        [[step]]
        fault = "status"
        status = 429
        headers = { retry-after = "1" }
        times = 2
        [[step]]
        text = "Reading."
        usage = { input = 7, output = 3 }
        [[step.call]]
        tool = "read_file"
        args = { path = "docs/a.md" }
        [[step]]
        once = true
        [[step.call]]
        tool = "edit_file"
        raw = "{"
        [[step]]
        repeat = true
        [[step.call]]
        tool = "search"
        args = { pattern = "x{{n}}", context = "{{n}}" }
        "#,
    )
    .unwrap();
    let raw = Reply::default().raw_call("edit_file", "{");
    let expected = Script::new()
        .context_limit(500)
        .fault(Fault::times(2, FaultKind::Status(429, vec![("retry-after".to_owned(), "1".to_owned())])))
        .reply(Reply::text("Reading.").call("read_file", json!({"path": "docs/a.md"})).usage(Tokens {
            input: 7,
            output: 3,
            ..Tokens::default()
        }))
        .fault(Fault::once(FaultKind::Say(raw)))
        .reply(Reply::of_call("search", json!({"pattern": "x{{n}}", "context": "{{n}}"})).forever());
    assert_eq!(script, expected);
    assert_eq!(script.replies(), 2);
}

#[test]
fn mistakes_in_a_script_are_named() {
    refuses("", "missing field `step`");
    refuses("step = []", "there is no step");
    refuses("[[step]]\ntxt = \"x\"", "unknown field `txt`");
    refuses("[[step]]\ntext = \"x\"\n[[step]]", "step 2: it neither says nor calls anything");
    refuses("[[step]]\nfault = \"flood\"", "unknown variant `flood`");
    refuses("[[step]]\nfault = \"status\"", "needs a `status`");
    refuses("[[step]]\nfault = \"empty\"\nafter = 5", "`after` belongs to a fault in the middle");
    refuses("[[step]]\nfault = \"drop\"\ntext = \"x\"", "only a refusal has a text");
    refuses("[[step]]\nfault = \"drop\"\nstatus = 500", "only the fault `status` has a status");
    refuses("[[step]]\nfault = \"drop\"\nstop = \"end\"", "a fault says nothing");
    refuses("[[step]]\nfault = \"drop\"\ntimes = 2\nforever = true", "exclude each other");
    refuses("[[step]]\ntext = \"x\"\nafter = 5", "`after` belongs to a fault");
    refuses("[[step]]\ntext = \"x\"\ntimes = 2", "belong to a fault");
    refuses("[[step]]\ntext = \"x\"\nrepeat = true\n[[step]]\ntext = \"y\"", "step 1: only the last step can repeat");
    refuses("[[step]]\n[[step.call]]\ntool = \"x\"\nraw = \"{\"\nargs = {}", "both `args` and `raw`");
}

#[test]
fn faults_strike_as_often_as_they_are_told() {
    let script = Script::new()
        .fault(Fault::times(2, FaultKind::Empty))
        .fault(Fault::once(FaultKind::ContextOverflow))
        .reply(Reply::text("a"))
        .fault(Fault::forever(FaultKind::Empty));
    let at_first: Vec<_> = (0..4).map(|struck| script.fault_at(0, struck).cloned()).collect();
    assert_eq!(at_first, [Some(FaultKind::Empty), Some(FaultKind::Empty), Some(FaultKind::ContextOverflow), None]);
    assert_eq!(script.fault_at(1, 1000), Some(&FaultKind::Empty));
    assert_eq!(script.reply_at(1), None);
}

#[test]
fn numbers_are_filled_in() {
    let arguments = Arguments::Json(json!({"line": "{{n}}", "path": ["p{{n}}.md"], "n": 5}));
    let written: Value = serde_json::from_str(&arguments.written(3)).unwrap();
    assert_eq!(written, json!({"line": 3, "path": ["p3.md"], "n": 5}));
}

#[test]
fn a_place_is_found_by_what_was_said() {
    let script = Script::new()
        .reply(Reply::of_call("a", json!({})))
        .fault(Fault::once(FaultKind::Refusal("No.".to_owned())))
        .reply(Reply::text("Well."))
        .reply(Reply::of_call("b", json!({})));
    let called = |mark: Mark| PastReply::new(String::new(), [mark.id("call_", "c", 0)].iter().map(String::as_str));
    let said = |text: &str| PastReply::new(text.to_owned(), std::iter::empty());
    assert_eq!(script.position(&[]), 0);
    assert_eq!(script.position(&[called(Mark::Reply(0))]), 1);
    assert_eq!(script.position(&[called(Mark::Reply(0)), said("No.")]), 1);
    assert_eq!(script.position(&[called(Mark::Reply(0)), said("No."), said("Well.")]), 2);
    assert_eq!(script.position(&[called(Mark::Reply(2))]), 3, "older answers were dropped");
    assert_eq!(script.position(&[called(Mark::Fault(2))]), 2);
    let foreign = PastReply::new(String::new(), ["call_1_0"].into_iter());
    assert_eq!(script.position(&[foreign]), 1);
}
