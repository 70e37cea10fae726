use copydesk_checks::Check;
use copydesk_checks::page::{Dialect, LinkKind, parse, parse_as};

use super::{links, messages, prose, targets};

#[test]
fn links_of_all_kinds_are_found_where_they_stand() {
    let text = "A [link](guide.md \"title\"), an ![image](<img/a b.png>), a [reference][r], an autolink\n\
                <https://example.com>, <a href=\"x.md#y\">a tag</a> and [esc](a\\_b.md).\n\n[r]: ../other.md 'x'\n";
    let page = parse("docs/a.md", text);
    assert_eq!(
        links(text, &page),
        [
            (LinkKind::Page, "guide.md", "guide.md"),
            (LinkKind::Image, "img/a b.png", "img/a b.png"),
            (LinkKind::Page, "https://example.com", "https://example.com"),
            (LinkKind::Page, "x.md#y", "x.md#y"),
            (LinkKind::Page, "a_b.md", "a\\_b.md"),
            (LinkKind::Page, "../other.md", "../other.md"),
        ]
    );
}

#[test]
fn nested_links_and_odd_texts_keep_their_places() {
    let text = "[![badge](b.svg)](target.md) [`code](no)`](yes.md) [](empty.md) [a](b(c).md) ![](i.png)\n";
    let page = parse("a.md", text);
    assert_eq!(targets(&page), ["b.svg", "target.md", "yes.md", "empty.md", "b(c).md", "i.png"]);
    assert!(links(text, &page).iter().all(|(_, target, written)| target == written));
}

#[test]
fn code_holds_no_links_and_no_prose() {
    let text = "Words `[a](b)` here.\n\n```md\n[c](d)\n<Card href=\"e\">\n```\n\n    [f](g)\n\nEnd.\n";
    let page = parse("a.md", text);
    assert!(page.links.is_empty(), "{:?}", page.links);
    let code: Vec<&str> = page.code.iter().map(|range| &text[range.clone()]).collect();
    assert_eq!(code, ["`[a](b)`", "```md\n[c](d)\n<Card href=\"e\">\n```", "[f](g)"]);
    assert_eq!(prose(text, &page), ["Words", "here.", "End."]);
}

#[test]
fn headings_have_anchors_as_on_github() {
    let text = "# Intro\n\n## Set *up* `x`\n\n## Intro\n\nUnder\n-----\n\n## Own {#mine}\n\n<h2 id=\"tag\">Tag</h2>\n\n\
                <a name=\"there\"></a>\n";
    let page = parse("a.md", text);
    let found: Vec<(u8, &str, &str, bool)> =
        page.headings.iter().map(|h| (h.level, h.text.as_str(), h.anchor.as_str(), h.marker.is_some())).collect();
    assert_eq!(
        found,
        [
            (1, "Intro", "intro", true),
            (2, "Set up x", "set-up-x", true),
            (2, "Intro", "intro-1", true),
            (2, "Under", "under", false),
            (2, "Own", "mine", true),
            (2, "Tag", "tag", false),
        ]
    );
    assert_eq!(&text[page.headings[1].range.clone()], "## Set *up* `x`");
    assert_eq!(page.headings[1].marker.clone().map(|range| &text[range]), Some("##"));
    assert!(page.anchors.contains(&"there".to_owned()));
}

#[test]
fn prose_is_what_people_read() {
    let text = "---\ntitle: No\n---\n# Yes one\n\n- item *two*\n\n| cell | other |\n|---|---|\n| three | `no` |\n\n\
                <div>\nfour <b>five</b>\n</div>\n\n<!-- no -->\n\n<https://no.example>\n";
    let page = parse("a.md", text);
    assert_eq!(prose(text, &page), ["Yes one", "item", "two", "cell", "other", "three", "four", "five"]);
}

#[test]
fn components_in_markdown_are_seen_through() {
    let text = "<Card title=\"T\" href=\"/a\" icon={<I/>}>\nSee [b](/b).\n</Card>\n\nA `Vec<T>` and Vec<T> too.\n";
    let page = parse("a.md", text);
    assert_eq!(targets(&page), ["/a", "/b"]);
    assert!(page.problems.is_empty());
}

#[test]
fn html_is_lenient_in_markdown() {
    assert!(messages("a.md", "<br>\n<p>open\n\n{ brace <5 </b>\n<!-- never closed\n").is_empty());
}

#[test]
fn fences_that_are_not_closed_are_found() {
    for path in ["a.md", "a.mdx"] {
        for (text, expected) in [
            ("```js\ncode\n", "the code fence is not closed"),
            (
                "x\n\n````\ncode\n```\n",
                "the code fence is not closed; the fence in line 5 has another length or character",
            ),
            ("~~~\ncode\n```\n", "the code fence is not closed; the fence in line 3 has another length or character"),
            ("```", "the code fence is not closed"),
        ] {
            let problems = parse(path, text).problems;
            let found: Vec<(Check, &str)> = problems.iter().map(|p| (p.check, p.message.as_str())).collect();
            assert_eq!(found, [(Check::CodeFences, expected)], "{path} {text:?}");
        }
        for text in ["```\ncode\n```", "```\n```\n", "- ```\n  x\n  ```\n", "> ```\n> x\n\ny\n", "~~~\n```\n~~~~\n"] {
            assert_eq!(messages(path, text), Vec::<String>::new(), "{path} {text:?}");
        }
    }
}

#[test]
fn parts_from_elsewhere_make_a_page_open_but_not_in_code() {
    let dialect = Dialect { includes: &["{{", "--8<--", "{%", "::: "], ..Dialect::default() };
    for text in ["{{#include x.md}}\n", "--8<-- \"x.md\"\n", "  {% include x %}\n", "::: package.module\n"] {
        assert!(parse_as("a.md", text, &dialect).open, "{text}");
        assert!(!parse("a.md", text).open, "elsewhere it means nothing: {text}");
    }
    for text in ["`{{ x }}`\n", "```yaml\n{{ secrets.x }}\n```\n", "::: tip\nx\n:::\n", "in {{ line }}\n", "plain\n"] {
        assert!(!parse_as("a.md", text, &dialect).open, "{text}");
    }
}

#[test]
fn ids_in_braces_are_anchors() {
    let dialect = Dialect { attribute_lists: true, ..Dialect::default() };
    let text = "## One {: #first }\n\n## Two { #second .c }\n\nText\n{: #third}\n\n`{#no}`\n";
    let page = parse_as("a.md", text, &dialect);
    assert_eq!(page.headings[0].text, "One");
    for id in ["first", "second", "third"] {
        let is_there = page.anchors.iter().any(|anchor| anchor == id) || page.headings.iter().any(|h| h.anchor == id);
        assert!(is_there, "{id}");
    }
    assert!(!page.anchors.contains(&"no".to_owned()));
}

#[test]
fn ids_stand_in_comments_and_brackets_where_the_site_has_that() {
    let comments = Dialect { comment_ids: true, bracket_ids: true, ..Dialect::default() };
    for (path, heading) in [
        ("a.mdx", "## One {/* #mine */}"),
        ("a.mdx", "## One {/*mine*/}"),
        ("a.md", "## One {/*mine*/}"),
        ("a.md", "## One [#mine]"),
        ("a.md", "## One {#mine}"),
    ] {
        let page = parse_as(path, &format!("{heading}\n"), &comments);
        assert_eq!((page.headings[0].text.as_str(), page.headings[0].anchor.as_str()), ("One", "mine"), "{heading}");
        assert!(!page.open, "{heading}");
    }
    // Elsewhere a comment gives no id, and hides nothing.
    assert_eq!(parse("a.mdx", "## One {/* #mine */}\n").headings[0].anchor, "one");
}

#[test]
fn blocks_whose_text_is_indented_are_read() {
    let text = "!!! note \"Title\"\n\n    See [a](a.md).\n\n    ??? tip\n\n        And [b](b.md).\n\n        ```\n        [no](no.md)\n        ```\n\n=== \"Tab\"\n\n    [c](c.md)\n\n    [d]\n\n[d]: d.md\n\n    [code](code.md)\n";
    let dialect = Dialect { indented_blocks: true, ..Dialect::default() };
    let page = parse_as("a.md", text, &dialect);
    assert_eq!(targets(&page), ["a.md", "b.md", "c.md", "d.md"]);
    assert!(links(text, &page).iter().all(|(_, target, written)| target == written));
    assert_eq!(targets(&parse("a.md", text)), ["d.md"], "elsewhere it is code, but for the definition");
}

#[test]
fn what_is_indented_in_a_tag_that_holds_markdown_is_read() {
    let text = "2. Select:\n\n     <figure markdown>\n         ![a](a.png)\n\n         [b](b.md)\n     </figure>\n\n<div markdown>\n- x\n\n    [c](c.md)\n</div>\n\ntext\n\n    [code](code.md)\n";
    let dialect = Dialect { indented_blocks: true, attribute_lists: true, ..Dialect::default() };
    assert_eq!(targets(&parse_as("a.md", text, &dialect)), ["a.png", "b.md", "c.md"]);
}

#[test]
fn templates_in_tags_hide_no_attributes() {
    let text = "<div>\n  <a {{% button \"x\" %}}\n    href=\"/a/\">a</a>\n  <a {% if x %}class=\"y\"{% endif %} href=\"/b/\">b</a>\n</div>\n";
    assert_eq!(targets(&parse("a.md", text)), ["/a/", "/b/"]);
}
