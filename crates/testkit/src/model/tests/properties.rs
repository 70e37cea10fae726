use proptest::prelude::*;

use super::*;
use crate::model::continuity::compare;

/// Words that mean something in a request, so that what is made up comes far enough to matter.
const WORDS: [&str; 24] = [
    "role",
    "user",
    "assistant",
    "tool",
    "system",
    "content",
    "type",
    "text",
    "tool_calls",
    "tool_call_id",
    "tool_use",
    "tool_result",
    "tool_use_id",
    "id",
    "name",
    "input",
    "function",
    "arguments",
    "messages",
    "model",
    "tools",
    "max_tokens",
    "cache_control",
    OPENAI_MODEL,
];

fn value() -> impl Strategy<Value = Value> {
    let word = prop::sample::select(WORDS.to_vec());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        word.clone().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 60, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(word.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A conversation whose calls have ids of their own, from `first` on.
fn talk(first: usize) -> impl Strategy<Value = Vec<Item>> {
    let part = prop_oneof![
        "[a-zä ]{0,6}[a-zä]".prop_map(|text| vec![Item::User(text.trim().to_owned())]),
        "[a-zä]{1,8}".prop_map(|text| vec![Item::Assistant(text)]),
        "[a-zä]{0,30}".prop_map(|text| vec![
            Item::Call { id: String::new(), name: "read_file".to_owned(), arguments: Value::Null },
            Item::Result { id: String::new(), text },
        ]),
    ];
    prop::collection::vec(part, 0..8).prop_map(move |parts| {
        let number = |(number, mut part): (usize, Vec<Item>)| {
            for item in &mut part {
                if let Item::Call { id, .. } | Item::Result { id, .. } = item {
                    *id = format!("call_{}", first + number);
                }
            }
            part
        };
        parts.into_iter().enumerate().flat_map(number).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn no_body_makes_the_rules_stumble(body in value()) {
        for api in BOTH {
            let _ = check(api, &body);
            let mut good = super::body(api, "Fix it.", true, &[]);
            push(&mut good["messages"], body.clone());
            let _ = check(api, &good);
        }
    }

    #[test]
    fn every_conversation_goes_on_from_its_own_beginning(before in talk(0), more in talk(100)) {
        let now = [before.clone(), more.clone()].concat();
        let (continuation, _) = compare(&before, &now).unwrap();
        prop_assert_eq!(continuation, Continuation { dropped: 0, shortened: 0, added: more.len() });
    }

    #[test]
    fn comparing_any_two_conversations_comes_to_an_end(before in talk(0), now in talk(3)) {
        if let Ok((continuation, _)) = compare(&before, &now) {
            prop_assert!(continuation.dropped <= before.len() && continuation.added <= now.len());
        }
    }
}
