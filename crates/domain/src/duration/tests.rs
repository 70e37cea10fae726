use proptest::prelude::*;

use super::*;

#[test]
fn durations_are_read() {
    let cases = [
        ("500ms", 500),
        ("30s", 30_000),
        ("15m", 900_000),
        ("24h", 86_400_000),
        ("90d", 7_776_000_000),
        ("1h30m", 5_400_000),
        ("1d2h3m4s5ms", 93_784_005),
        ("90m", 5_400_000),
        ("0s", 0),
        ("007s", 7_000),
    ];
    for (text, millis) in cases {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
    }
}

#[test]
fn other_texts_are_refused() {
    let unit = "add its unit: ";
    let form = "write whole numbers with";
    let order = "write each unit once";
    let cases = [
        ("0", unit),
        ("30", unit),
        ("", form),
        ("s", form),
        ("1.5h", form),
        ("-1s", form),
        ("+1s", form),
        ("1 s", form),
        (" 1s", form),
        ("1S", form),
        ("1w", form),
        ("1h30", form),
        ("٣s", form),
        ("30m1h", order),
        ("1s1s", order),
        ("99999999999999999999ms", "it is too long"),
        ("18446744073709551615d", "it is too long"),
        ("18446744073709551s999ms", "it is too long"),
    ];
    for (text, hint) in cases {
        let found = parse_duration(text).unwrap_err();
        assert!(found.starts_with(hint), "{text}: {found}");
    }
    assert_eq!(
        parse_duration("30").unwrap_err(),
        "add its unit: 30d for days, 30h for hours, 30m for minutes or 30s for seconds"
    );
}

#[test]
fn durations_are_written() {
    let cases = [
        (0, "0s"),
        (500, "500ms"),
        (1_500, "1s500ms"),
        (5_400_000, "1h30m"),
        (86_400_000, "24h"),
        (129_600_000, "36h"),
        (172_800_000, "2d"),
        (216_000_001, "2d12h1ms"),
    ];
    for (millis, text) in cases {
        assert_eq!(format_duration(Duration::from_millis(millis)), text);
    }
    assert_eq!(format_duration(Duration::from_nanos(1_999_999)), "1ms");
    assert!(format_duration(Duration::MAX).ends_with("ms"));
}

proptest! {
    #[test]
    fn written_durations_are_read_back(millis in prop_oneof![any::<u64>(), 0..400_000_000_u64]) {
        let duration = Duration::from_millis(millis);
        prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "[0-9dhms+ é]{0,12}|.*") {
        if let Ok(duration) = parse_duration(&text) {
            prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        }
    }
}
