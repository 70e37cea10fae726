use copydesk_checks::page::{Dialect, IdRule, LinkKind, parse, parse_as};

use super::{links, messages, prose, targets};

#[test]
fn markdown_inside_components_is_seen_at_any_indentation() {
    let text = "import { X } from '/snippets/x.mdx'\nimport Y from './y.jsx';\nimport z from 'package'\n\n# Title\n\n\
        <Steps>\n  <Step title=\"One\">\n        See [deep](/deep) and\n        ![pic](./p.png).\n\n        ## Inner\n  \
        </Step>\n</Steps>\n\n<CardGroup cols={2}>\n  <Card title=\"A\" href=\"/card\">text</Card>\n  \
        <Frame><img src='/i.png' alt=\"\" /></Frame>\n</CardGroup>\n\n<Snippet file=\"s.mdx\" />\n\n\
        <a href={\"/braced\"}>b</a> {/* [no](no) */} <Card href={computed} />\n";
    let dialect = Dialect { ids: IdRule::Mintlify, component_ids: true, ..Dialect::default() };
    let page = parse_as("a.mdx", text, &dialect);
    assert_eq!(
        links(text, &page),
        [
            (LinkKind::Snippet, "/snippets/x.mdx", "/snippets/x.mdx"),
            (LinkKind::Snippet, "./y.jsx", "./y.jsx"),
            (LinkKind::Page, "/deep", "/deep"),
            (LinkKind::Image, "./p.png", "./p.png"),
            (LinkKind::Page, "/card", "/card"),
            (LinkKind::Image, "/i.png", "/i.png"),
            (LinkKind::Snippet, "s.mdx", "s.mdx"),
            (LinkKind::Page, "/braced", "/braced"),
        ]
    );
    let headings: Vec<&str> = page.headings.iter().map(|heading| &text[heading.range.clone()]).collect();
    assert_eq!(headings, ["# Title", "## Inner"]);
    assert!(page.anchors.contains(&"one".to_owned()));
    assert!(page.problems.is_empty(), "{:?}", page.problems);
    assert_eq!(prose(text, &page), ["Title", "See", "deep", "and", "pic", ".", "Inner", "text", "b"]);
}

#[test]
fn code_hides_tags_braces_and_links() {
    let text = "Use `<Card>` and ``{`x`}``.\n\n<Tab>\n    ```jsx title=\"{x}\"\n    <Open href=\"/no\">{\n    ```\n</Tab>\n\n\
                Cost $5 <b>now</b>, $a<b$ and $$\n\n$$\n\\frac{a}{b} < {\n$$\n";
    let page = parse("a.mdx", text);
    assert_eq!(page.problems, []);
    assert!(page.links.is_empty());
    let code: Vec<&str> = page.code.iter().map(|range| text[range.clone()].trim()).collect();
    assert_eq!(code, ["`<Card>`", "``{`x`}``", "```jsx title=\"{x}\"\n    <Open href=\"/no\">{\n    ```"]);
}

#[test]
fn exports_with_blank_lines_are_one_piece() {
    let text = "export const A = () => {\n  const x = 1;\n\n  return <div>{x}</div>;\n};\n\nText [a](b).\n";
    let page = parse("a.mdx", text);
    assert_eq!((targets(&page), prose(text, &page)), (vec!["b"], vec!["Text".to_owned(), "a".into(), ".".into()]));
    assert!(page.problems.is_empty());
}

#[test]
fn a_sentence_may_start_with_import_or_export() {
    for text in ["import the data first\n", "export your data, then {x}\n", "important: read\n"] {
        let page = parse("a.mdx", text);
        assert!(page.problems.is_empty() && !page.prose.is_empty(), "{text}");
    }
}

#[test]
fn heading_ids_and_tags_in_headings() {
    let text = "## Own {#mine}\n\n## Plan <Badge>New</Badge>\n\n<h3 id=\"x\">Tag *t*</h3>\n";
    let page = parse("a.mdx", text);
    let found: Vec<(&str, &str)> = page.headings.iter().map(|h| (h.text.as_str(), h.anchor.as_str())).collect();
    assert_eq!(found[0], ("Own", "mine"));
    assert_eq!(found[1], ("Plan New", "plan-new"));
    assert_eq!(found[2].1, "x");
    assert!(page.problems.is_empty(), "{:?}", page.problems);
}

#[test]
fn what_is_not_well_formed_is_said() {
    for (text, expected) in [
        ("<Card>\n\ntext\n", "`<Card>` is not closed"),
        ("<A><B></A>\n", "`<B>` is not closed before `</A>`"),
        ("text </Card>\n", "`</Card>` closes nothing that is open"),
        ("a {b\n", "`{` is not closed"),
        ("{/* x\n", "the comment is not closed with `*/}`"),
        ("<!-- x\n", "the comment is not closed with `-->`"),
        ("<Card href=\"x>\n", "`<Card` has an attribute whose quote is not closed"),
        ("<Card href={x>\n", "`<Card` has a brace in its tag that is not closed"),
        ("<Card href=x>\n", "`<Card` has an attribute whose value is not in quotes"),
        ("<Card\n", "`<Card` starts a tag that has no `>`"),
        ("if a <5 then\n", "`<5` starts a tag without a name; write `\\<`"),
        ("see <https://x.example>\n", "`<https://x.example>` is no tag; addresses in `<…>` are not MDX"),
        ("line<br>end\n", "`<br>` is not closed"),
        ("export const a = {\n\ntext\n", "the brackets of this import or export are not closed"),
    ] {
        assert_eq!(messages("a.mdx", text), [expected], "{text:?}");
    }
}

#[test]
fn what_mdx_takes_is_no_problem() {
    for text in [
        "<Card>text</ Card>\n",
        "<Card>text</\n  Card >\n",
        "a < b and a > b\n",
        "\\<notatag and \\{ brace\n",
        "<></>\n",
        "<Foo.Bar x:y=\"1\" {...rest} z />\n",
        "<!-- some sites take this -->\n",
        "text } more\n",
        "[a](/x/{id}) [b](<x y>)\n",
        "{items.map((i) => <li key={i}>Don't {i}</li>)}\n",
        "<Card\n  title=\"a > b\"\n  icon={() => { return \"}\" }}\n>\ntext\n</Card>\n",
        "[ref]: <https://x.example/{y}>\n",
        "- <Note>\n    x\n  </Note>\n",
        "| a | b |\n|---|---|\n| `{` | <b>x</b> |\n",
    ] {
        assert_eq!(messages("a.mdx", text), Vec::<String>::new(), "{text:?}");
    }
}

#[test]
fn a_tag_may_hold_a_whole_table() {
    let rows = "  { name: 'x', type: \"string\", description: 'Don\\'t' },\n".repeat(3000);
    let text = format!("<Table\n  content={{[\n{rows}]}}\n/>\n\n[after](/a)\n");
    let page = parse("a.mdx", &text);
    assert_eq!((page.problems.as_slice(), targets(&page)), ([].as_slice(), vec!["/a"]));
}

#[test]
fn a_page_of_mistakes_is_not_slow_and_not_endless() {
    for unit in ["<a \"", "{", "<A>", "`", "``` `", "$x", "[", "](", "<!--", "{/*", "import {\n\n"] {
        let page = parse("a.mdx", &unit.repeat(5_000));
        assert!(page.problems.len() <= 51, "{unit}");
        parse("a.md", &unit.repeat(5_000));
    }
}
