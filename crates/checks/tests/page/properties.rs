use std::ops::Range;

use copydesk_checks::page::{Page, parse};
use proptest::prelude::*;

/// Text of pieces that mean something to one of the parsers.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "---\n",
            "+++\n",
            "title: ",
            "a: [",
            "```",
            "~~~",
            "\n",
            "\n\n",
            "    ",
            "  ",
            "- ",
            "1. ",
            "> ",
            "# ",
            "## ",
            "<Card href=\"",
            "\">",
            "</Card>",
            "<a id='x'>",
            "<br/>",
            "<",
            ">",
            "{",
            "}",
            "{/*",
            "*/}",
            "`",
            "``",
            "[",
            "](",
            ")",
            "]: ",
            "![",
            "<!--",
            "-->",
            "import x from './a.mdx'\n",
            "export const a = {",
            "$",
            "$$\n",
            "|",
            "|---|",
            "é",
            "🚀",
            "\u{feff}",
            "\t",
            "\r\n",
            "\\",
            "&amp;",
            "**",
            "_",
            "word",
            "<h2>",
            "</h2>",
            "<code>",
            "</code>",
            "{#id}",
            "[^1]",
            "[^1]: ",
            "<div>\n",
            "</div>\n",
            "===\n",
            "\0",
            "https://x.y",
        ])
        .prop_map(str::to_owned),
        "\\PC{0,6}",
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn in_text(text: &str, range: &Range<usize>) {
    assert!(text.get(range.clone()).is_some(), "{range:?} of {}", text.len());
}

fn apart(text: &str, ranges: &[Range<usize>]) {
    for range in ranges {
        in_text(text, range);
        assert!(range.start < range.end);
    }
    assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start), "{ranges:?}");
}

fn well_placed(text: &str, page: &Page) {
    apart(text, &page.prose);
    apart(text, &page.code);
    for prose in &page.prose {
        assert!(page.code.iter().all(|code| code.end <= prose.start || prose.end <= code.start));
    }
    let mut last = 0;
    for link in &page.links {
        in_text(text, &link.range);
        assert!(last <= link.range.start);
        last = link.range.start;
    }
    last = 0;
    for heading in &page.headings {
        in_text(text, &heading.range);
        assert!(last <= heading.range.start && (1..=6).contains(&heading.level));
        last = heading.range.start;
        if let Some(marker) = &heading.marker {
            assert!(text[marker.clone()].bytes().all(|b| b == b'#'));
        }
    }
    page.problems.iter().for_each(|problem| in_text(text, &problem.range));
    if let Some(front_matter) = &page.front_matter {
        in_text(text, &front_matter.range);
        in_text(text, &front_matter.body);
        front_matter.fields.iter().for_each(|field| in_text(text, &field.range));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_gives_a_page_with_ranges_in_it(text in pieces()) {
        well_placed(&text, &parse("a.md", &text));
        well_placed(&text, &parse("a.mdx", &text));
    }

    #[test]
    fn any_characters_give_a_page(text in any::<String>()) {
        well_placed(&text, &parse("a.md", &text));
        well_placed(&text, &parse("a.mdx", &text));
    }
}
