//! The same pages through a full MDX parser give the same links and headings.

use copydesk_checks::page::{LinkKind, parse};
use markdown::mdast::{AttributeContent, AttributeValue, Node};
use markdown::{Constructs, ParseOptions, to_mdast};

const CORPUS: [&str; 12] = [
    "# One\n\nText [a](b) and ![c](d \"t\").\n\n## Two *three* `four`\n\n- [x](y)\n  - [z](w)\n",
    "import A from './a.mdx'\n\n# T\n\n<Card title=\"x\" href=\"/card\">\n  [in](/in)\n</Card>\n\nAfter [e](/e).\n",
    "<Tabs>\n  <Tab title=\"a\">\n    Deep [link](/deep)\n\n    ### Deep heading\n\n    1. one [n](/n)\n    2. two\n  </Tab>\n</Tabs>\n",
    "<Steps>\n    <Step>\n        Eight spaces [s](/s)\n\n        ```js\n        [no](/no)\n        ```\n\n        More ![i](/i.png)\n    </Step>\n</Steps>\n",
    "A {1 + 1} b {/* [no](no) */} c [d](/d)\n\n{items.map((x) => (\n  <a href={x}>{x}</a>\n))}\n\n[f](/f)\n",
    "| a | b |\n|---|---|\n| [x](/x) | `[no](no)` |\n| <b>bold</b> | ![i](/i) |\n",
    "> quoted [q](/q)\n>\n> # In quote\n\n***\n\nSetext [s](/s)\n====\n",
    "export const A = () => {\n  return <a href=\"/no\">x</a>\n}\n\n# After <Badge>New</Badge>\n\n<img src=\"/i.png\" />\n",
    "[ref] and [other][ref2]\n\n[ref]: /one\n[ref2]: </two three> \"t\"\n",
    "Line <b>bold [in](/in) bold</b> and <a href='/a'>text</a>\n\n<Frame>\n  <img src=\"./x.png\" alt=\"\" />\n</Frame>\n",
    "* star **[b](/b)**\n\n  para [p](/p)\n\n  ```\n  [no](no)\n  ```\n\n10) ten [t](/t)\n",
    "## Same\n\ntext\n\n## Same\n\n    not code [y](/y) in MDX\n\n###### Six ######\n",
];

#[test]
fn links_and_headings_are_those_of_a_full_parser() {
    for text in CORPUS {
        let tree = to_mdast(text, &options()).expect(text);
        let mut expected = Found::default();
        expected.walk(&tree, &tree);
        let page = parse("a.mdx", text);
        let mut links: Vec<String> =
            page.links.iter().filter(|link| link.kind != LinkKind::Snippet).map(|link| link.target.clone()).collect();
        links.sort();
        expected.links.sort();
        expected.links.dedup();
        links.dedup();
        assert_eq!(links, expected.links, "{text}");
        let headings: Vec<(u8, String)> =
            page.headings.iter().map(|heading| (heading.level, heading.text.replace(' ', ""))).collect();
        assert_eq!(headings, expected.headings, "{text}");
        assert!(page.problems.is_empty(), "{text} {:?}", page.problems);
    }
}

fn options() -> ParseOptions {
    let constructs = Constructs { gfm_table: true, gfm_strikethrough: true, ..Constructs::mdx() };
    ParseOptions { constructs, ..ParseOptions::mdx() }
}

#[derive(Default)]
struct Found {
    links: Vec<String>,
    headings: Vec<(u8, String)>,
}

impl Found {
    fn walk(&mut self, node: &Node, root: &Node) {
        match node {
            Node::Link(link) => self.links.push(link.url.clone()),
            Node::Image(image) => self.links.push(image.url.clone()),
            Node::LinkReference(link) => self.links.extend(definition(root, &link.identifier)),
            Node::MdxJsxFlowElement(element) => self.attributes(&element.attributes),
            Node::MdxJsxTextElement(element) => self.attributes(&element.attributes),
            Node::Heading(heading) => {
                let mut text = String::new();
                words(node, &mut text);
                self.headings.push((heading.depth, text.replace(' ', "")));
            }
            _ => {}
        }
        for child in node.children().into_iter().flatten() {
            self.walk(child, root);
        }
    }

    fn attributes(&mut self, attributes: &[AttributeContent]) {
        for attribute in attributes {
            if let AttributeContent::Property(property) = attribute
                && matches!(property.name.as_str(), "href" | "src")
                && let Some(AttributeValue::Literal(value)) = &property.value
            {
                self.links.push(value.clone());
            }
        }
    }
}

fn words(node: &Node, into: &mut String) {
    match node {
        Node::Text(text) => into.push_str(&text.value),
        Node::InlineCode(code) => into.push_str(&code.value),
        _ => node.children().into_iter().flatten().for_each(|child| words(child, into)),
    }
}

fn definition(root: &Node, identifier: &str) -> Option<String> {
    root.children()?.iter().find_map(|node| match node {
        Node::Definition(definition) if definition.identifier == identifier => Some(definition.url.clone()),
        _ => None,
    })
}
