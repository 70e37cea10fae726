use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::said::Call;

const LIMITS: Limits = Limits { turns: 20, tokens: 1_000_000, cost: None, context_bytes: 100_000, repair_turns: 4 };

fn machine(limits: Limits) -> Machine {
    let mut talk = Talk::default();
    talk.user("Context.");
    Machine::new(talk, limits)
}

fn said(text: &str, calls: &[(&str, &str, Value)]) -> Event {
    let call = |(id, name, arguments): &(&str, &str, Value)| Call {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        arguments: arguments.clone(),
        ..Call::default()
    };
    let said = Said { text: text.to_owned(), calls: calls.iter().map(call).collect(), ..Said::default() };
    Event::Answered { said, tokens: 100, cost: 0.5 }
}

fn ran(count: usize, edited: bool) -> Event {
    let outcomes = vec![Ran { text: "Done.".to_owned(), ok: true, valid: true }; count];
    Event::Ran { outcomes, edited }
}

fn finish_call() -> Event {
    said("", &[("f", "finish", json!({"title": " A\n title ", "summary": "S"}))])
}

fn finished(effect: Effect) -> Finish {
    let Effect::Finish(finish) = effect else { panic!("{effect:?}") };
    finish
}

#[test]
fn a_change_is_checked_before_it_is_finished() {
    let mut machine = machine(LIMITS);
    assert_eq!(machine.handle(Event::Start), Effect::Call);
    let Effect::Run(calls) = machine.handle(said("", &[("a", "edit_file", json!({}))])) else { panic!() };
    assert_eq!(calls.len(), 1);
    assert_eq!(machine.handle(ran(1, true)), Effect::Call);
    assert_eq!(machine.handle(finish_call()), Effect::Check);
    let finish = finished(machine.handle(Event::Checked(Vec::new())));
    assert_eq!((finish.title.as_str(), finish.summary.as_str()), ("A title", "S"));
}

#[test]
fn without_a_change_there_is_no_title_and_nothing_to_check() {
    let mut machine = machine(LIMITS);
    machine.handle(Event::Start);
    assert_eq!(finished(machine.handle(finish_call())).title, "");
}

#[test]
fn nothing_to_do_is_understood_and_what_is_not_that_is_asked_about() {
    for text in ["No changes.", "I looked, and nothing needs to be changed.", "There are no changes needed here."] {
        let mut machine = machine(LIMITS);
        machine.handle(Event::Start);
        assert_eq!(finished(machine.handle(said(text, &[]))).summary, text);
    }
    let mut machine = machine(LIMITS);
    machine.handle(Event::Start);
    assert_eq!(machine.handle(said("I will see what is already there.", &[])), Effect::Call);
    assert_eq!(finished(machine.handle(said("It is all there.", &[]))).summary, "It is all there.");
}

#[test]
fn finishing_together_with_a_call_that_fails_is_not_finishing() {
    let mut machine = machine(LIMITS);
    machine.handle(Event::Start);
    let finish = ("f", "finish", json!({"summary": "S"}));
    machine.handle(said("", &[("a", "edit_file", json!({})), finish]));
    let failed = vec![Ran { text: "Error: no".to_owned(), ok: false, valid: true }];
    assert_eq!(machine.handle(Event::Ran { outcomes: failed, edited: false }), Effect::Call);
    let Some(Item::Results(results)) = machine.talk().items().last() else { panic!() };
    assert!(results[1].text.starts_with("Not finished"), "{results:?}");
}

#[test]
fn only_so_many_calls_of_an_answer_are_run() {
    let mut machine = machine(LIMITS);
    machine.handle(Event::Start);
    let calls = vec![("", "read_file", json!({})); MOST_CALLS + 8];
    let Effect::Run(run) = machine.handle(said("", &calls)) else { panic!() };
    assert_eq!(run.len(), MOST_CALLS);
    machine.handle(ran(MOST_CALLS, false));
    assert_eq!(machine.talk().flaw(), None);
    let Some(Item::Results(results)) = machine.talk().items().last() else { panic!() };
    assert!(results[MOST_CALLS].text.starts_with("Not run"));
}

#[test]
fn a_change_that_cannot_be_repaired_is_kept() {
    for then in ["text", "empty", "limit"] {
        let mut machine = machine(Limits { turns: if then == "limit" { 2 } else { 20 }, ..LIMITS });
        machine.handle(Event::Start);
        machine.handle(said("", &[("a", "edit_file", json!({}))]));
        machine.handle(ran(1, true));
        machine.handle(finish_call());
        let mut effect = machine.handle(Event::Checked(vec!["broken".to_owned()]));
        while effect == Effect::Call {
            assert_eq!(machine.talk().flaw(), None);
            effect = machine.handle(said(if then == "text" { "I cannot." } else { "" }, &[]));
        }
        assert_eq!(finished(effect).title, "A title", "{then}");
    }
}

/// A machine that was told of a new prompt while it repairs, after `answers` of the repair.
fn prompted_while_repairing(answers: usize) -> Machine {
    let mut machine = machine(LIMITS);
    machine.handle(Event::Start);
    machine.handle(said("", &[("a", "edit_file", json!({}))]));
    machine.handle(ran(1, true));
    machine.handle(finish_call());
    assert_eq!(machine.handle(Event::Checked(vec!["broken".to_owned()])), Effect::Call);
    for at in 0..answers {
        machine.handle(said("", &[("r", "read_file", json!({"path": at}))]));
        assert_eq!(machine.handle(ran(1, true)), Effect::Call);
    }
    assert_eq!(machine.handle(Event::Prompted(vec!["And do this too.".to_owned()])), Effect::Call);
    machine
}

#[test]
fn a_prompt_that_comes_while_repairing_is_worked_on_like_any_other() {
    for answers in 0..4 {
        let mut machine = prompted_while_repairing(answers);
        for at in 0..10 {
            machine.handle(said("", &[("e", "edit_file", json!({"path": at}))]));
            assert_eq!(machine.handle(ran(1, true)), Effect::Call, "the answers for the repair do not count any more");
        }
        // What comes of it is checked anew, and may be repaired anew.
        let last = said("", &[("g", "finish", json!({"title": "Both", "summary": "S"}))]);
        assert_eq!(machine.handle(last), Effect::Check);
        assert_eq!(machine.handle(Event::Checked(vec!["broken".to_owned()])), Effect::Call);
        assert_eq!(finished(machine.handle(said("I cannot.", &[]))).title, "Both");
    }
}

#[test]
fn text_alone_does_not_end_what_came_while_repairing() {
    let mut machine = prompted_while_repairing(1);
    assert_eq!(machine.handle(said("I will do that as well.", &[])), Effect::Call);
    let Some(Item::User(last)) = machine.talk().items().last() else { panic!() };
    assert!(last.contains("You called no tool"), "{last}");
    assert_eq!(machine.handle(said("Did that as well.", &[])), Effect::Check);
    assert_eq!(finished(machine.handle(Event::Checked(Vec::new()))).summary, "Did that as well.");
}

#[test]
fn events_out_of_turn_are_an_end_and_no_panic() {
    let mut machine = machine(LIMITS);
    assert!(matches!(machine.handle(ran(1, true)), Effect::Fail(_)));
    assert!(matches!(machine.handle(Event::Start), Effect::Fail(_)));
}

#[test]
fn old_results_go_first_when_room_is_made() {
    let mut machine = machine(Limits { context_bytes: 20_000, ..LIMITS });
    machine.handle(Event::Start);
    for at in 0..8 {
        machine.handle(said("Text.", &[("", "read_file", json!({"path": format!("{at}")}))]));
        let outcomes = vec![Ran { text: format!("{at}{}", "x".repeat(4_000)), ok: true, valid: true }];
        machine.handle(Event::Ran { outcomes, edited: false });
        assert!(machine.talk().bytes() <= 20_000);
        assert_eq!(machine.talk().flaw(), None);
    }
    let results: Vec<&ToolResult> = machine
        .talk()
        .items()
        .iter()
        .filter_map(|item| match item {
            Item::Results(results) => results.first(),
            _ => None,
        })
        .collect();
    assert_eq!(results.len(), 8, "no answer had to be dropped");
    assert!(results[0].text.starts_with("(left out") && results[7].text.starts_with("7x"));
}

#[test]
fn then_old_answers_go_and_what_the_user_said_stays() {
    let mut machine = machine(Limits { context_bytes: 10_000, turns: 50, ..LIMITS });
    machine.handle(Event::Start);
    machine.handle(Event::Prompted(vec!["The wish.".to_owned()]));
    for at in 0..30 {
        let text = format!("{at} {}", "y".repeat(900));
        machine.handle(said(&text, &[("", "read_file", json!({"path": format!("{at}")}))]));
        machine.handle(ran(1, false));
        assert!(machine.talk().bytes() <= 10_000);
        assert_eq!(machine.talk().flaw(), None);
    }
    let Some(Item::User(first)) = machine.talk().items().first() else { panic!() };
    assert!(first.contains("The wish.") && first.matches("earlier steps are left out").count() == 1, "{first}");
}

#[test]
fn long_arguments_of_the_newest_calls_are_cut_last() {
    let mut machine = machine(Limits { context_bytes: 10_000, ..LIMITS });
    machine.handle(Event::Start);
    for at in 0..3 {
        let text = "z".repeat(8_000);
        machine.handle(said("", &[("", "write_file", json!({"path": format!("{at}"), "text": text}))]));
        machine.handle(ran(1, true));
        assert!(machine.talk().bytes() <= 10_000);
        assert_eq!(machine.talk().flaw(), None);
    }
    let Some(Item::Model(last)) = machine.talk().items().iter().rfind(|item| matches!(item, Item::Model(_))) else {
        panic!()
    };
    assert_eq!(last.calls[0].arguments["text"].as_str().unwrap().len(), 8_000);
}

/// Arguments as models make them: right, wrong, or no JSON at all.
fn arguments() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!({"path": "docs/a.md"})),
        Just(json!({"title": "T", "summary": "S"})),
        Just(json!({"summary": ""})),
        Just(Value::Null),
        Just(json!([1, {"a": null}])),
        "\\PC{0,20}".prop_map(Value::String),
        (0usize..6_000).prop_map(|length| json!({"path": "p", "text": "z".repeat(length)})),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let name = prop_oneof![
        4 => Just("read_file".to_owned()),
        2 => Just("finish".to_owned()),
        2 => Just("edit_file".to_owned()),
        1 => "\\PC{0,10}",
    ];
    let id = prop_oneof![Just(String::new()), Just("same".to_owned()), "[a-z]{1,6}", "\\PC{0,9}"];
    (id, name, arguments()).prop_map(|(id, name, arguments)| Call { id, name, arguments, ..Call::default() })
}

fn answer() -> impl Strategy<Value = Said> {
    let text = prop_oneof![Just(String::new()), Just(" \n".to_owned()), "\\PC{0,40}", Just("No changes.".to_owned())];
    let stop =
        prop_oneof![6 => Just(Stop::Done), 1 => Just(Stop::Length), 1 => Just(Stop::Refused), 1 => Just(Stop::Paused)];
    let calls = prop_oneof![2 => Just(Vec::new()), 5 => prop::collection::vec(call(), 1..4), 1 => prop::collection::vec(call(), 30..40)];
    (text, stop, calls).prop_map(|(text, stop, calls)| Said { text, stop, calls, ..Said::default() })
}

/// An answer, how tools end, whether something is edited or found, and what comes in between.
type Happening = (Said, Vec<(bool, bool, usize)>, bool, u8);

/// What the world does: answers, how tools end, what the checks find, whether something comes in between.
fn world() -> impl Strategy<Value = Vec<Happening>> {
    let outcome = (any::<bool>(), any::<bool>(), 0usize..3_000);
    prop::collection::vec((answer(), prop::collection::vec(outcome, 8), any::<bool>(), any::<u8>()), 1..16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn whatever_a_model_says_the_talk_stays_sound_and_the_end_comes(world in world(), turns in 1u32..25) {
        let limits = Limits { turns, context_bytes: 60_000, ..LIMITS };
        let mut machine = machine(limits);
        let mut effect = machine.handle(Event::Start);
        let mut steps = 0;
        let mut events = world.iter().cycle();
        let mut edited = false;
        loop {
            steps += 1;
            prop_assert!(steps < 10 * (turns + 5), "no end");
            let Some((said, outcomes, flag, chance)) = events.next() else { break };
            effect = match effect {
                Effect::Call => {
                    prop_assert_eq!(machine.talk().flaw(), None);
                    prop_assert!(!matches!(machine.talk().items().last(), Some(Item::Model(_))));
                    prop_assert!(machine.talk().bytes() <= 75_000, "{}", machine.talk().bytes());
                    if chance % 8 == 0 {
                        machine.handle(Event::Prompted(vec!["More.".to_owned()]));
                    }
                    match chance {
                        7 => machine.handle(Event::TooLong),
                        _ => machine.handle(Event::Answered { said: said.clone(), tokens: 10, cost: 0.0 }),
                    }
                }
                Effect::Run(calls) => {
                    prop_assert!(calls.len() <= MOST_CALLS && !calls.is_empty());
                    edited |= *flag;
                    let outcome = |(ok, valid, length): &(bool, bool, usize)| Ran { text: "r".repeat(*length), ok: *ok && *valid, valid: *valid };
                    machine.handle(Event::Ran { outcomes: outcomes.iter().cycle().take(calls.len()).map(outcome).collect(), edited })
                }
                Effect::Check => {
                    prop_assert!(edited);
                    machine.handle(Event::Checked(if *flag { vec!["f".repeat(600); 99] } else { Vec::new() }))
                }
                Effect::Finish(finish) => {
                    prop_assert_eq!(finish.title.is_empty(), !edited);
                    break;
                }
                Effect::Fail(sentence) => {
                    prop_assert!(!sentence.contains("lost track"), "{}", sentence);
                    break;
                }
            };
        }
    }
}
