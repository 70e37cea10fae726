//! Whatever is sent, nothing panics, and every item is accounted for.

use std::sync::{Arc, LazyLock};

use copydesk_domain::Timestamp;
use proptest::prelude::*;

use super::*;
use crate::classify::Classifier;
use crate::collect::cloudflare::cloudflare_line;
use crate::intake::Judge;

/// Read once: that takes longer than a case.
static LISTS: LazyLock<Arc<Classifier>> = LazyLock::new(|| Arc::new(Classifier::builtin()));

const NOW: Timestamp = Timestamp::from_millis(1_773_576_000_000);
const READERS: [fn(&[u8]) -> Item<'_>; 4] =
    [|item| server_event(item, NOW), vercel_line, netlify_line, cloudflare_line];

/// JSON that is near to what the readers know: their fields with values of any type.
fn nearly() -> impl Strategy<Value = String> {
    let names: Vec<&str> = "path url userAgent timestamp id accept ip status method referrer proxy requestId statusCode clientIp log_type \
        status_code user_agent ClientRequestURI EdgeResponseStatus EdgeStartTimestamp RayID n u d name domain"
        .split(' ')
        .collect();
    let leaf = prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|it| it.to_string()),
        any::<i64>().prop_map(|it| it.to_string()),
        any::<f64>().prop_filter_map("finite", |it| it.is_finite().then(|| it.to_string())),
        ".{0,12}".prop_map(|it| serde_json::to_string(&it).unwrap()),
        Just("\"/guide?_rsc=1\"".to_owned()),
        Just("\"2026-03-15T12:00:00Z\"".to_owned()),
        Just("\"https://docs.example.com:80/x\"".to_owned()),
    ];
    let value = leaf.prop_recursive(3, 24, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((prop::sample::select(names.clone()), inner), 0..8).prop_map(|fields| {
                let fields: Vec<_> = fields.iter().map(|(name, value)| format!("\"{name}\":{value}")).collect();
                format!("{{{}}}", fields.join(","))
            }),
        ]
    });
    value.boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_bytes_make_a_reader_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        for reader in READERS {
            reader(&body);
        }
        let _ = plausible::read(&body);
        let _ = cloudflare::is_trial(&body);
        for packing in [Packing::Gzip, Packing::Zstd] {
            let _ = unpack(packing, &body, 1000);
        }
        for form in [Form::Any, Form::Lines] {
            if let Ok(found) = items(&body, form, 50) {
                prop_assert!(found.len() <= 50);
            }
        }
    }

    #[test]
    fn no_json_makes_a_reader_panic_and_what_it_reads_can_be_judged(json in nearly()) {
        let mut judge = Judge::new(Arc::clone(&LISTS));
        for reader in READERS {
            if let Item::Hit(told) = reader(json.as_bytes()) {
                judge.judge(&told, NOW);
            }
        }
        let _ = plausible::read(json.as_bytes());
    }

    #[test]
    fn a_list_and_lines_have_the_same_items(objects in prop::collection::vec(nearly(), 2..8)) {
        let list = format!("[{}]", objects.join(" , "));
        let lines = objects.join("\n");
        let of_list = items(list.as_bytes(), Form::Any, 100).unwrap();
        prop_assert_eq!(of_list.len(), objects.len());
        prop_assert_eq!(items(lines.as_bytes(), Form::Lines, 100).unwrap(), of_list);
    }
}
