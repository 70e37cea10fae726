//! What a pull request and a commit say: readable, bounded, and harmless whatever went in.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

use copydesk_forge::text::{
    CheckLines, FollowUp, LONGEST_TEXT, LONGEST_TITLE, PullRequestText, body, find_template, pull_title, title,
    with_additions,
};
use copydesk_forge::{DiffKind, FileSummary, MemoryTree, branch_name, commit_message};
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

const JOB: &str = "019a8f00-0000-7abc-8def-0123456789ab";

fn file(path: &str, kind: DiffKind) -> FileSummary {
    let old_path = (kind == DiffKind::Renamed).then(|| "old.md".to_owned());
    FileSummary { path: path.to_owned(), old_path, added: 2, removed: 1, kind }
}

fn summary(text: &str) -> String {
    let body = body(&PullRequestText { summary: text, ..PullRequestText::default() });
    let text = body.strip_prefix("## What changed and why\n\n").unwrap();
    text.split_once("\n\n## Files").unwrap().0.to_owned()
}

#[test]
fn a_whole_text() {
    let files =
        [file("docs/a.md", DiffKind::Changed), file("docs/b.md", DiffKind::Renamed), file("c.md", DiffKind::Added)];
    let (new, repaired) = (["docs/a.md:3: `x.md` is not there".to_owned()], ["anchor #top".to_owned()]);
    let passed = ["links".to_owned()];
    let not_judged = ["links: 1 of 9: `hooks` may make pages (1)".to_owned()];
    let text = body(&PullRequestText {
        summary: "Renames **Acme**.\n\n- one `code`\n- two",
        follow_ups: &[FollowUp { number: 1, title: "Say why, @ann", summary: "Because.\n\n## Now" }],
        not_done: &["the page of @ann may not be changed".to_owned()],
        files: &files,
        checks: CheckLines { new: &new, repaired: &repaired, passed: &passed, not_judged: &not_judged },
        job_link: Some("https://copydesk.example/jobs/1"),
        job_id: JOB,
        issue: Some(12),
        prompts: &["Rename Acme, cc @ann, fixes #12"],
        changes: Some("sdk:v1.4..v1.5"),
        template: None,
        is_draft_for_findings: true,
    });
    let expected = "\
## What changed and why

Renames **Acme**.

- one `code`
- two

**Follow-up 1:** Say why, `@ann`

Because.

Now

## Not done

This is a draft because a part of what was asked for is not done:

- the page of `@ann` may not be changed

## Files

- `docs/a.md` (+2 −1)
- `docs/b.md`: moved from `old.md` (+2 −1)
- `c.md`: new (+2 −1)

## Checks

This is a draft because the change brings new findings that could not be repaired.

New findings:

- docs/a.md:3: `x.md` is not there

Fixed findings:

- anchor `#top`

Nothing new was found by the checks for links.

Not checked:

- links: 1 of 9: `hooks` may make pages (1)

## Prompt

> ```
> Rename Acme, cc @ann, fixes # 12
> ```

It is about what changed in `sdk:v1.4..v1.5`.

Asked for in #12.

Made by Copydesk, job [`019a8f00-0000-7abc-8def-0123456789ab`](https://copydesk.example/jobs/1).
";
    assert_eq!(text, expected);
}

#[test]
fn prose_of_strangers_is_defused() {
    for (input, output) in [
        ("ask @bob, or (@acme/docs).", "ask `@bob`, or (`@acme/docs`)."),
        ("Fixes #12 and acme/docs#3", "Fixes `#12` and `acme/docs#3`"),
        ("closes GH-12, resolves KEY-7", "closes `GH-12`, resolves `KEY-7`"),
        ("see https://github.com/a/b/issues/1.", "see `https://github.com/a/b/issues/1`."),
        ("`fixes #12` in code", "`fixes # 12` in code"),
        ("&#64;bob &commat;bob", "`&#64;bob` `&commat;bob`"),
        ("a <!-- hidden --> b", "a &lt;!-- hidden --&gt; b"),
        ("<details><summary>x</summary>", "&lt;details&gt;&lt;summary&gt;x&lt;/summary&gt;"),
        ("![x](https://evil.example/p.png)", "`![x](https://evil.example/p.png)`"),
        ("[//]: # (hidden)", "\\[//\\]: \\# (hidden)"),
        ("[text](page.md)", "\\[text\\](page.md)"),
        ("/close", "`/close`"),
        ("- /merge now", "- `/merge` now"),
        ("!12 and $3 and 9ba12248a", "`!12` and `$3` and `9ba12248a`"),
        ("in\u{200b}vis\u{202e}ible\u{e0041}", "invisible"),
        ("# Heading\ntext\n---\nmore", "Heading\ntext\n\nmore"),
        ("odd ` tick", "odd \\` tick"),
        ("an \\` escape, then `code`", "an \\` escape, then `code`"),
        ("``a ` b`` c", "``a ` b`` c"),
        ("`a`@bob", "`a` `@bob`"),
        ("C# and 50% of A&B", "C\\# and 50% of `A&B`"),
        ("- [x] done", "- \\[x\\] done"),
    ] {
        assert_eq!(summary(input), output, "{input}");
    }
}

#[test]
fn code_blocks_of_strangers_are_closed() {
    assert_eq!(summary("```js\nfixes #1\n~~~"), "```\nfixes # 1\n~~~\n```");
    assert_eq!(summary("~~~\n```\n@bob\n~~~\nafter"), "````\n```\n@bob\n````\nafter");
    assert_eq!(summary("- ```\n@bob"), "- \\`\\`\\`\n`@bob`");
}

#[test]
fn a_template_is_the_frame() {
    let template = "---\nname: x\n---\n<!-- Describe\nyour change -->\n## Description\n\n## Checklist\n\n- [ ] I ran the tests\n- [x] Fixes #\n\ncc @acme/docs <b>now</b>\n";
    let text = body(&PullRequestText { summary: "Words.", template: Some(template), ..PullRequestText::default() });
    let expected = "## Description\n\nWords.\n\n## Checklist\n\n- [ ] I ran the tests\n- [ ] Fixes \\#\n\ncc `@acme/docs` &lt;b&gt;now&lt;/b&gt;\n\n## Files\n";
    assert!(text.starts_with(expected), "{text}");

    let text = body(&PullRequestText {
        summary: "Words.",
        template: Some("## Checklist\n\n- [ ] Read\n"),
        ..PullRequestText::default()
    });
    assert!(text.starts_with("## Checklist\n\n- [ ] Read\n\n## What changed and why\n\nWords.\n"), "{text}");

    let text =
        body(&PullRequestText { summary: "Words.", template: Some("<!-- only this"), ..PullRequestText::default() });
    assert!(text.starts_with("## What changed and why\n"), "{text}");
}

#[test]
fn a_template_is_found_in_any_case() {
    for path in [
        ".github/PULL_REQUEST_TEMPLATE.md",
        ".github/pull_request_template.md",
        "docs/Pull_Request_Template.md",
        "PULL_REQUEST_TEMPLATE.md",
        ".gitlab/merge_request_templates/Default.md",
    ] {
        let tree = MemoryTree::of([(path, "## T\n"), ("a.md", "a")]);
        assert_eq!(find_template(&tree).unwrap().as_deref(), Some("## T\n"), "{path}");
    }
    assert_eq!(find_template(&MemoryTree::of([("a.md", "a")])).unwrap(), None);
    let linked = MemoryTree::default().with("pull_request_template.md", copydesk_forge::Kind::Symlink, "/etc/passwd");
    assert_eq!(find_template(&linked).unwrap(), None);
}

#[test]
fn titles_are_one_harmless_line() {
    for (input, output) in [
        ("Fix typos", "Fix typos"),
        ("  Fixes #12\nby @bob ", "Fixes # 12 by @ bob"),
        ("a [SKIP  CI] b [ci_skip] c [no\nci]", "a (SKIP CI) b (ci_skip) c (no ci)"),
        ("See [the docs] and [x][y]", "See [the docs] and [x][y]"),
        ("BREAKING CHANGE: none", "Breaking change: none"),
        ("Release-As: 9.0.0", "Release as: 9.0.0"),
        ("DOCS-12 #close #time 2h", "DOCS-12 # close # time 2h"),
        ("Name the anchor #install", "Name the anchor #install"),
        ("Closes GH-7 and KEY-8 [skip ci]", "Closes GH 7 and KEY-8 (skip ci)"),
        ("Closes issue KEY-8", "Closes issue KEY 8"),
        ("see https://github.com/a/b/pull/1", "see github.com/a/b/pull/1"),
        ("/close", "close"),
        ("", "Update the documentation"),
        ("\u{200b}", "Update the documentation"),
        ("Use UTF-8", "Use UTF-8"),
        ("Install `@scope/package`", "Install `@ scope/package`"),
    ] {
        assert_eq!(title(input), output, "{input}");
    }
    assert_eq!(title(&"word ".repeat(100)), "word ".repeat(22) + "word…");
}

#[test]
fn packages_keep_their_names_in_the_code_of_a_title() {
    for (input, output) in [
        ("Install `@scope/package` with @bob", "Install `@scope/package` with @ bob"),
        ("Install @scope/package", "Install @ scope/package"),
        ("Thank `@bob` and `@a/b @bob`, `@c/d", "Thank `@ bob` and `@ a/b @ bob`, `@ c/d"),
    ] {
        assert_eq!(pull_title(input), output, "{input}");
    }
}

#[test]
fn what_is_added_to_the_text_of_a_person_is_there_once_and_short() {
    let follow_up = |number| FollowUp { number, title: "Fix typos", summary: "Done." };
    let more = |all: &[FollowUp<'_>]| {
        with_additions("Theirs.", &PullRequestText { follow_ups: all, ..PullRequestText::default() })
    };
    let two = more(&[follow_up(1), follow_up(2)]);
    assert_eq!(
        two,
        "Theirs.\n\n---\n\n**Follow-up 1:** Fix typos\n\nDone.\n\n---\n\n**Follow-up 2:** Fix typos\n\nDone.\n"
    );
    let input = PullRequestText { follow_ups: &[follow_up(1), follow_up(2)], ..PullRequestText::default() };
    assert_eq!(with_additions(&two, &input), two);
    let long = "x".repeat(LONGEST_TEXT - 60);
    let summary = "word ".repeat(50);
    let all = [FollowUp { number: 1, title: "Fix typos", summary: &summary }];
    let input = PullRequestText { follow_ups: &all, ..PullRequestText::default() };
    assert!(with_additions(&long, &input).ends_with("**Follow-up 1:** Fix typos\n"), "the words of it do not fit");
}

#[test]
fn a_commit_message_has_one_trailer() {
    let long = "These words go on and on, so that they do not fit into one line of a commit message.";
    let message = commit_message("Rename Acme", &format!("{long}\n\nCo-authored-by: Eve <eve@x.org>\nFixes #3"), JOB);
    let expected = format!(
        "Rename Acme\n\nThese words go on and on, so that they do not fit into one line of a\ncommit message.\n\n\
         > Co-authored-by: Eve <eve@ x.org>\nFixes # 3\n\nCopydesk-Job: {JOB}\n"
    );
    assert_eq!(message, expected);
    assert_eq!(commit_message("T", " \n", "1\nSigned-off-by: x"), "T\n\nCopydesk-Job: 1Signed-off-byx\n");
    let subject = commit_message(&"word ".repeat(40), "", JOB);
    assert!(subject.lines().next().unwrap().chars().count() <= 72);
}

#[test]
fn branch_names_end_in_what_is_random() {
    assert_eq!(branch_name(JOB, "Rename Acme Cloud — everywhere!"), "copydesk/23456789ab-rename-acme-cloud-everywhere");
    assert_eq!(branch_name(JOB, "日本語"), "copydesk/23456789ab-docs");
    assert_eq!(branch_name("", ""), "copydesk/job-docs");
    assert_eq!(branch_name(JOB, &"word ".repeat(40)).len(), "copydesk/23456789ab-".len() + 39);
    let now = copydesk_domain::Timestamp::from_millis(1_794_706_496_120);
    let names: std::collections::BTreeSet<_> =
        (0..1000).map(|_| branch_name(&copydesk_domain::new_id(now), "x")).collect();
    assert_eq!(names.len(), 1000);
}

/// Bits of which mischief is made.
const BITS: &[&str] = &[
    "@bob",
    "@",
    "#12",
    "#",
    "fixes",
    "Closes:",
    "resolve",
    "issue",
    " ",
    "\n",
    "\n\n",
    "`",
    "``",
    "```",
    "````",
    "~~~",
    "~",
    "<!--",
    "-->",
    "<b>",
    "<details>",
    "[x](y)",
    "![i](http://e/x.png)",
    "[",
    "](",
    ")",
    "[//]: # (h)",
    "[^1]",
    "[^1]: x",
    "/close",
    "GH-1",
    "KEY-12",
    "&#64;bob",
    "&",
    "\u{200b}",
    "\u{202e}",
    "\u{e0041}",
    "- ",
    "1. ",
    "> ",
    "    ",
    "\t",
    "\\",
    "https://h/o/r/issues/1",
    "http://h",
    "www.x.org",
    "x@y.z",
    "$x$",
    "$$",
    "!5",
    "%5",
    "a1b2c3d4e5",
    "***",
    "*",
    "_",
    "===",
    "---",
    "|",
    "^1",
    "word",
    "ü",
    "\r",
    "\0",
    "a/b#1",
    "o/r@abc",
    "+ ",
    "# ",
    "##### ",
    "- [x] ",
    ":",
    "://",
    "[skip ci]",
    "[CI_SKIP]",
    "BREAKING CHANGE: ",
    "Signed-off-by: x",
    "~\"l l\"",
];

fn mischief() -> impl Strategy<Value = String> {
    let bits = proptest::collection::vec(0..BITS.len(), 0..30);
    prop_oneof![4 => bits.prop_map(|bits| bits.into_iter().map(|bit| BITS[bit]).collect()), 1 => "\\PC{0,60}"]
}

/// What people see outside code, and links. Panics if there is HTML or an image.
fn look(text: &str) -> (String, Vec<String>) {
    let (mut seen, mut links, mut in_code) = (String::new(), Vec::new(), false);
    let options = Options::all() - Options::ENABLE_SMART_PUNCTUATION - Options::ENABLE_WIKILINKS;
    for event in Parser::new_ext(text, options) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(text) if !in_code => seen.push_str(&text),
            Event::Start(Tag::Link { dest_url, .. }) => links.push(dest_url.to_string()),
            Event::Html(html) | Event::InlineHtml(html) => panic!("HTML {html:?} in {text:?}"),
            Event::Start(Tag::Image { .. } | Tag::FootnoteDefinition(_)) | Event::FootnoteReference(_) => {
                panic!("{text:?}")
            }
            Event::InlineMath(_) | Event::DisplayMath(_) => panic!("a formula in {text:?}"),
            // Words in different elements are not next to each other.
            _ => seen.push('\u{1}'),
        }
    }
    assert_eq!(Parser::new_ext(text, options).reference_definitions().iter().count(), 0, "{text:?}");
    (seen, links)
}

/// Whether a closing word is followed by a reference, read the way code hosts do.
fn closes_issue(text: &str) -> Option<String> {
    let low = text.to_lowercase();
    for word in [
        "close",
        "closes",
        "closed",
        "closing",
        "fix",
        "fixes",
        "fixed",
        "fixing",
        "resolve",
        "resolves",
        "resolved",
        "implements",
    ] {
        for (at, _) in low.match_indices(word) {
            let is_word = !low[..at].ends_with(char::is_alphanumeric);
            let rest = &low[at + word.len()..];
            if !is_word || !rest.starts_with([':', ' ', '\n']) {
                continue;
            }
            let (apart, rest) = rest.split_at(rest.len() - rest.trim_start_matches([':', ' ', '\n']).len());
            if apart.contains("\n\n") {
                continue;
            }
            let rest = rest.trim_start_matches("issues").trim_start_matches("issue").trim_start_matches(' ');
            let name = rest.trim_start_matches(|c: char| c.is_alphanumeric() || "-_./:".contains(c));
            let number = name.strip_prefix(['#', '!']).or_else(|| rest.strip_prefix("gh-"));
            let is_key = rest.starts_with("key-1");
            let is_address = rest.starts_with("http://") || rest.starts_with("https://");
            if number.is_some_and(|it| it.starts_with(|c: char| c.is_ascii_digit())) || is_key || is_address {
                return Some(low[at..].chars().take(60).collect());
            }
        }
    }
    None
}

fn assert_harmless(text: &str) {
    let (seen, links) = look(text);
    assert_eq!(links, ["https://c.example/1"], "{text}");
    for sign in ["@", "://", "www.", "gh-", "GH-"] {
        assert!(!seen.contains(sign), "{sign} in {text}");
    }
    let chars: Vec<char> = seen.chars().collect();
    assert!(!chars.windows(2).any(|it| "#!$&%^~".contains(it[0]) && it[1].is_ascii_digit()), "a reference in {text}");
    assert_eq!(closes_issue(text), None, "{text}");
    assert!(!text.lines().any(|line| line.trim_start().starts_with('/')), "an order in {text}");
    assert!(
        !text.contains(|c: char| c != '\n' && c.is_control() || matches!(c, '\u{200b}' | '\u{202e}' | '\u{e0041}'))
    );
    assert!(text.chars().count() <= LONGEST_TEXT);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_of_a_stranger_does_anything(summary in mischief(), prompt in mischief(), line in mischief(), path in mischief(), template in proptest::option::of(mischief())) {
        let (lines, files) = ([line.clone()], [file(&path, DiffKind::Changed)]);
        let text = body(&PullRequestText {
            summary: &summary,
            follow_ups: &[FollowUp { number: 1, title: &line, summary: &prompt }],
            not_done: &lines,
            files: &files,
            checks: CheckLines { new: &lines, repaired: &lines, passed: &lines, not_judged: &lines },
            job_link: Some("https://c.example/1"),
            job_id: JOB,
            issue: None,
            prompts: &[&prompt, &summary],
            changes: Some(&line),
            template: template.as_deref(),
            is_draft_for_findings: false,
        });
        assert_harmless(&text);
        let theirs = "Theirs, see [job](https://c.example/1).";
        let more = PullRequestText {
            follow_ups: &[FollowUp { number: 1, title: &line, summary: &summary }],
            not_done: &lines,
            checks: CheckLines { new: &lines, ..CheckLines::default() },
            ..PullRequestText::default()
        };
        let added = with_additions(theirs, &more);
        assert_harmless(&added);
        let again = with_additions(&added, &more);
        prop_assert_eq!(again.trim_end(), added.trim_end(), "once");
        // All of our own sections are there: no fence and no comment has swallowed one.
        let headings = Parser::new(&text).filter(|event| matches!(event, Event::Start(Tag::Heading { .. }))).count();
        prop_assert!(headings >= 3, "{}", text);
        prop_assert!(text.ends_with("(https://c.example/1).\n"));
    }

    #[test]
    fn titles_and_messages_do_nothing_either(text in mischief(), more in mischief()) {
        let title = title(&text);
        prop_assert!(!title.is_empty() && title.chars().count() <= LONGEST_TITLE && !title.contains('\n'));
        let message = commit_message(&text, &more, JOB);
        for text in [&title, &message] {
            prop_assert_eq!(closes_issue(text), None, "{}", text);
            prop_assert!(!text.contains("://") && !text.contains("[skip ci]"), "{}", text);
            prop_assert!(!text.contains("[CI_SKIP]") && !text.contains("BREAKING CHANGE"), "{}", text);
            let chars: Vec<char> = text.chars().collect();
            prop_assert!(!chars.windows(2).any(|it| it[0] == '@' && it[1].is_alphanumeric()), "{}", text);
        }
        prop_assert!(message.lines().next().unwrap().chars().count() <= 72);
        prop_assert!(!message.lines().skip(1).any(|line| line.starts_with("Signed-off-by:")), "{}", message);
        prop_assert!(message.ends_with(&format!("\n\nCopydesk-Job: {JOB}\n")), "{}", message);
    }

    #[test]
    fn branch_names_are_references(id in "\\PC{0,40}", title in mischief()) {
        let name = branch_name(&id, &title);
        prop_assert!(copydesk_domain::git_ref("branch", &name).is_ok(), "{}", name);
        prop_assert!(name.len() <= 80 && name.is_ascii());
    }
}

#[test]
fn the_largest_text_is_bounded() {
    let long = "word <&> @x `y` ".repeat(10_000);
    let lines = vec!["<".repeat(1000) + "`"; 500];
    let files: Vec<_> =
        (0..5000).map(|number| file(&format!("{number}/{}", "`x".repeat(300)), DiffKind::Renamed)).collect();
    let prompt = "`".repeat(3000) + &long;
    let prompts = vec![prompt.as_str(); 50];
    for template in [None, Some(format!("## Summary\n{}", long.replace(" @", "\n@"))), Some("```\n".to_owned() + &long)]
    {
        let text = body(&PullRequestText {
            summary: &long.replace(" @", "\n@"),
            follow_ups: &vec![FollowUp { number: 1, title: &long, summary: &long }; 30],
            not_done: &lines,
            files: &files,
            checks: CheckLines { new: &lines, repaired: &lines, passed: &lines, not_judged: &lines },
            job_link: Some("https://c.example/1"),
            job_id: JOB,
            issue: None,
            prompts: &prompts,
            changes: None,
            template: template.as_deref(),
            is_draft_for_findings: true,
        });
        assert!(text.chars().count() > 20_000, "{}", text.chars().count());
        assert_harmless(&text);
        assert!(text.contains("(shortened)") && text.contains(" more\n"));
    }
}
