use copydesk_checks::Check;
use copydesk_checks::page::parse;

use super::messages;

#[test]
fn fields_are_read_with_their_places() {
    let text = "---\ntitle: \"Ein Füller\"\ndescription: plain words # comment\ntags: [a, b]\nnested:\n  x: 1\nlast: >-\n  folded\n  text\nempty:\n---\n# H\n";
    let page = parse("a.md", text);
    let front_matter = page.front_matter.expect("front matter");
    let fields: Vec<(&str, Option<&str>, &str)> = front_matter
        .fields
        .iter()
        .map(|field| (field.name.as_str(), field.value.as_deref(), &text[field.range.clone()]))
        .collect();
    assert_eq!(
        fields[..5],
        [
            ("title", Some("Ein Füller"), "\"Ein Füller\""),
            ("description", Some("plain words"), "plain words"),
            ("tags", None, "[a, b]"),
            ("nested", None, "x: 1"),
            ("last", Some("folded text"), ">-\n  folded\n  text"),
        ]
    );
    assert_eq!((fields[5].0, fields[5].2), ("empty", ""));
    assert_eq!(&text[front_matter.range.end..], "# H\n");
    assert!(text[front_matter.body].starts_with("title"));
    assert!(page.problems.is_empty());
}

#[test]
fn toml_between_pluses_is_read() {
    let text = "+++\ntitle = 'T'\n[extra]\nx = 1\n+++\nBody\n";
    let page = parse("a.md", text);
    let front_matter = page.front_matter.expect("front matter");
    assert_eq!(front_matter.fields[0].value.as_deref(), Some("T"));
    assert_eq!(&text[front_matter.fields[0].range.clone()], "'T'");
    assert_eq!(messages("a.md", "+++\ntitle = \n+++\n").len(), 1);
}

#[test]
fn what_is_wrong_is_said() {
    for (text, expected) in [
        ("---\ntitle: a: b\n---\n", "the front matter is not valid YAML"),
        ("---\ntitle: \"open\n---\n", "the front matter is not valid YAML"),
        ("---\ntitle: a\ntitle: b\n---\n", "the front matter has the field `title` twice"),
        ("---\nx:\n  y: 1\n  y: 2\n---\n", "the front matter has the field `y` twice"),
        ("---\ntitle: a\n\n# H\n", "the front matter is not closed with `---`"),
        ("+++\na = 1\na = 2\n+++\n", "the front matter is not valid TOML"),
    ] {
        let problems = parse("a.md", text).problems;
        assert_eq!(problems.len(), 1, "{text:?} {problems:?}");
        assert_eq!(problems[0].check, Check::FrontMatter);
        assert!(problems[0].message.starts_with(expected), "{text:?} {problems:?}");
    }
}

#[test]
fn text_between_two_rules_is_no_front_matter() {
    for text in
        ["---\nJust a sentence\n---\n", "Text\n\n---\nkey: value\n---\n", "---\n- a\n- b\n---\n", "---\n\nText.\n"]
    {
        let page = parse("a.md", text);
        assert_eq!((page.front_matter, page.problems), (None, vec![]), "{text:?}");
    }
    assert!(parse("a.md", "---\n---\nText").front_matter.is_some());
    assert!(parse("a.md", "\u{feff}---\r\ntitle: x\r\n---\r\nText").front_matter.is_some());
}

#[test]
fn deep_nesting_and_aliases_cost_nothing() {
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(5000), "]".repeat(5000));
    assert_eq!(messages("a.md", &deep).len(), 1);
    let deep = format!("---\na: {}{}\n---\n", "[".repeat(80), "]".repeat(80));
    assert_eq!(messages("a.md", &deep), ["the front matter is nested too deeply"]);
    let mut bomb = "---\na0: &a0 [x, x]\n".to_owned();
    for number in 1..60 {
        bomb.push_str(&format!("a{number}: &a{number} [*a{0}, *a{0}]\n", number - 1));
    }
    bomb.push_str("---\n");
    assert_eq!(parse("a.md", &bomb).front_matter.map(|f| f.fields.len()), Some(60));
}
