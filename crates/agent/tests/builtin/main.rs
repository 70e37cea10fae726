//! The builtin engine through its public face: prompts and files in, files and words out.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should stop at once")]

mod desk;
mod drop;

use desk::{Desk, Outcome};

#[tokio::test]
async fn replaces_a_term_where_it_is_asked_to() {
    let desk = Desk::of(&[
        ("docs/guides/a.mdx", "---\ntitle: Acme Cloud\nslug: Acme Cloud\n---\n\nAcme Cloud and `Acme Cloud`.\r\n"),
        ("docs/b.md", "Acme Cloud\n"),
        ("src/c.md", "Acme Cloud\n"),
    ]);
    let done = desk.edit("Replace \"Acme Cloud\" with \"Acme Sky\" in docs/guides/").await;
    assert_eq!(
        done.file("docs/guides/a.mdx"),
        "---\ntitle: Acme Sky\nslug: Acme Cloud\n---\n\nAcme Sky and `Acme Cloud`.\r\n"
    );
    assert_eq!(done.changed(), ["docs/guides/a.mdx"]);
    assert_eq!(done.title, "Replace \"Acme Cloud\" with \"Acme Sky\" in docs/guides");
    for part in ["2 places in 1 file", "`docs/guides/a.mdx`: 2 places", "1 place in code, 1 place in addresses"] {
        assert!(done.summary.contains(part), "{}", done.summary);
    }
    assert_eq!(done.taken_through, 1);
    assert_eq!(done.events[0]["files"][0], "docs/guides/a.mdx");
}

#[tokio::test]
async fn replaces_everywhere_but_never_outside_of_the_documentation() {
    let desk = Desk::of(&[("docs/a.md", "x `x`"), ("docs/old/b.md", "x"), ("docs/c.txt", "x"), ("README.md", "x")]);
    let done = desk.edit("replace \"x\" with \"y\" everywhere except in docs/old/, also in code").await;
    assert_eq!((done.file("docs/a.md"), done.changed()), ("y `y`".to_owned(), vec!["docs/a.md".to_owned()]));
}

#[tokio::test]
async fn a_new_term_that_would_be_markup_is_not_written() {
    let desk = Desk::of(&[("docs/a.mdx", "One x two.\n")]);
    let done = desk.edit("replace \"x\" with \"<Foo {\"").await;
    assert!(done.changed().is_empty() && done.title.is_empty(), "{}", done.summary);
    assert!(done.summary.contains("read as markup"), "{}", done.summary);
}

#[tokio::test]
async fn an_address_that_is_asked_for_is_replaced_in_addresses() {
    let text = "---\nhome: https://old.example/x\n---\n[a](https://old.example/x) <https://old.example> https://old.example.org\n\
                \nme@old.example, https://cold.example, `https://old.example`\n";
    let desk = Desk::of(&[("docs/a.md", text)]);
    let done = desk.edit("Replace \"https://old.example\" with \"https://new.example\"").await;
    assert_eq!(
        done.file("docs/a.md"),
        "---\nhome: https://new.example/x\n---\n[a](https://new.example/x) <https://new.example> https://old.example.org\n\
         \nme@old.example, https://cold.example, `https://old.example`\n"
    );
    let done = desk.edit("Replace \"Old\" with \"New\" ignoring case").await;
    assert!(done.changed().is_empty());
}

#[tokio::test]
async fn the_words_of_others_keep_their_terms() {
    let desk = Desk::of(&[("docs/a.md", "Cloud.\n\n> Cloud, he said.\n\n> [!NOTE]\n> Cloud is ours.\n")]);
    let done = desk.edit("Replace \"Cloud\" with \"Sky\"").await;
    assert_eq!(done.file("docs/a.md"), "Sky.\n\n> Cloud, he said.\n\n> [!NOTE]\n> Sky is ours.\n");
    assert!(done.summary.contains("or quotations"), "{}", done.summary);
}

#[tokio::test]
async fn several_chores_are_done_in_order() {
    let desk =
        Desk::of(&[("docs/a.md", "# A\n\n### To recieve\n\nWe recieve teh mail.\n"), ("docs/b/c.md", "teh the\n")]);
    let done =
        desk.edit("Fix typos and heading levels in docs/a.md. Then replace \"mail\" with \"post\" in docs/a.md.").await;
    assert_eq!(done.file("docs/a.md"), "# A\n\n## To receive\n\nWe receive the post.\n");
    assert_eq!(done.changed(), ["docs/a.md"]);
    assert_eq!(done.title, "Fix typos in docs/a.md and 2 more chores");
    assert!(done.summary.contains("`teh` → `the`"), "{}", done.summary);
}

#[tokio::test]
async fn fills_in_front_matter() {
    let desk = Desk::of(&[
        ("docs/a.md", "# Start here\n\nIt is *easy*. Really.\n"),
        ("docs/b.md", "---\ntitle: B\n---\n"),
        ("docs/README.md", "# Read\n\nMe.\n"),
    ]);
    let done = desk.edit("Fill in missing front matter").await;
    let wanted = "---\ntitle: Start here\ndescription: It is easy.\n---\n\n# Start here\n\nIt is *easy*. Really.\n";
    assert_eq!((done.file("docs/a.md").as_str(), done.changed()), (wanted, vec!["docs/a.md".to_owned()]));
    assert!(done.summary.contains("`docs/b.md`: no description can be taken from the page"), "{}", done.summary);
}

#[tokio::test]
async fn what_is_not_understood_fails_and_changes_nothing() {
    let desk = Desk::of(&[("docs/a.md", "x")]);
    for prompt in ["Make it nicer", "Replace \"x\" with \"y\" and make it nicer"] {
        let sentence = desk.fail(prompt).await;
        for part in ["ake it nicer", "fix typos", "`[model]` in copydesk.toml"] {
            assert!(sentence.contains(part), "{sentence}");
        }
    }
}

#[tokio::test]
async fn a_path_that_is_not_there_fails_with_what_is_near() {
    let desk = Desk::of(&[("docs/guides/start.md", "x"), ("docs/api.md", "x"), ("src/a.md", "x")]);
    for (prompt, parts) in [
        ("fix typos in docs/guide/", &["no page or folder `docs/guide/`", "`docs/guides`"][..]),
        ("fix typos in docs/strat.md", &["no page or folder `docs/strat.md`"]),
        ("fix typos in docs/*.mdx", &["no page or folder `docs/*.mdx`"]),
        ("fix typos except in docs/olde", &["`docs/olde`"]),
        ("fix typos in src/a.md", &["`src/a.md` is not among the project's documentation"]),
        ("fix typos in ../secret", &["leaves the repository"]),
        ("fix typos in `docs/../../x`", &["leaves the repository"]),
    ] {
        let sentence = desk.fail(prompt).await;
        assert!(parts.iter().all(|part| sentence.contains(part)), "{prompt}: {sentence}");
    }
}

#[tokio::test]
async fn paths_can_be_written_in_several_ways() {
    for path in ["guides", "./docs/guides/", "/docs/guides", "docs/guides/a", "`docs/**/a.m?`", "docs/{x,guides}/*.md"]
    {
        let desk = Desk::of(&[("docs/guides/a.md", "x"), ("docs/b.md", "x")]);
        let done = desk.edit(&format!("replace \"x\" with \"y\" in {path}")).await;
        assert_eq!(done.changed(), ["docs/guides/a.md"], "{path}");
    }
}

#[tokio::test]
async fn files_that_may_not_be_written_are_left_and_named() {
    let desk = Desk::of(&[("docs/a.md", "x"), ("docs/generated/b.md", "x")]).forbidding("docs/generated/b.md");
    let done = desk.edit("replace \"x\" with \"y\"").await;
    assert_eq!(done.changed(), ["docs/a.md"]);
    assert!(done.summary.contains("`docs/generated/b.md`: it is generated"), "{}", done.summary);
}

#[tokio::test]
async fn binary_and_huge_files_are_left_and_named() {
    let huge = format!("x {}", "a ".repeat(2 * 1024 * 1024));
    let desk = Desk::of(&[("docs/a.md", "x"), ("docs/b.md", "x \0"), ("docs/c.md", &huge)]);
    let done = desk.edit("replace \"x\" with \"y\"").await;
    assert_eq!(done.changed(), ["docs/a.md"]);
    assert!(done.summary.contains("not a text file") && done.summary.contains("bytes"), "{}", done.summary);
}

#[tokio::test]
async fn nothing_to_do_is_said_and_changes_nothing() {
    let desk = Desk::of(&[("docs/a.md", "All is well here.\n")]);
    for prompt in ["fix typos", "replace \"x\" with \"y\"", "fix heading levels", "add missing titles in docs/a.md"] {
        let done = desk.edit(prompt).await;
        if prompt.starts_with("add") {
            assert_eq!(done.changed(), ["docs/a.md"]);
        } else {
            assert!(done.changed().is_empty() && done.title.is_empty());
            assert!(done.summary.contains("nothing to do in 1 page"), "{}", done.summary);
        }
    }
}

#[tokio::test]
async fn only_the_prompts_of_this_turn_count_and_late_ones_are_taken_in() {
    let desk =
        Desk::of(&[("docs/a.md", "a b c d")]).later(3, "replace \"c\" with \"C\"").later(4, "replace \"d\" with \"D\"");
    let done = desk.edit_from(2, &["This was not understood", "replace \"b\" with \"B\""]).await;
    assert_eq!((done.file("docs/a.md").as_str(), done.taken_through), ("a B C D", 4));
    let desk = Desk::of(&[("docs/a.md", "a")]).later(2, "and now for something else");
    assert!(desk.fail("replace \"a\" with \"b\"").await.contains("something else"));
}

#[tokio::test]
async fn doing_it_again_changes_nothing() {
    let files = [
        ("docs/a.md", "# A\n\n#### Teh Cloud\n\nOur Cloud recieves. See [it](b.md#cloud) and [gone](B.md).\n"),
        ("docs/b.md", "## Cloud\r\n\r\nText of teh page\r\n"),
        ("docs/SUMMARY.md", "- [A](a.md)\n- [B](b.md)\n"),
    ];
    for prompt in [
        "replace \"Cloud\" with \"Acme Cloud\"",
        "fix typos",
        "fix heading levels",
        "fill in missing front matter",
        "repair broken links and anchors",
        "add a page \"New\" at docs/new.md",
    ] {
        let once = Desk::of(&files).edit(prompt).await;
        let again: Outcome = once.as_base().edit(prompt).await;
        assert!(again.changed().is_empty(), "{prompt}: {:?} {}", again.changed(), again.summary);
        assert!(!once.changed().is_empty(), "{prompt}: {}", once.summary);
    }
}

const DOCS_JSON: &str = r#"{
  "name": "Acme",
  "navigation": {
    "groups": [
      { "group": "Start", "pages": ["index"] },
      {
        "group": "Guides",
        "pages": [
          "guides/a",
          "guides/b"
        ]
      }
    ]
  }
}
"#;

fn site() -> Desk {
    let page = |title: &str| format!("---\ntitle: {title}\n---\n\nText.\n");
    let (index, a, b) = (page("Home"), page("A"), page("B"));
    Desk::of(&[
        ("docs/docs.json", DOCS_JSON),
        ("docs/index.mdx", &index),
        ("docs/guides/a.mdx", &a),
        ("docs/guides/b.mdx", &b),
        ("src/main.rs", "fn main() {}"),
    ])
}

#[tokio::test]
async fn adds_a_page_and_lists_it() {
    let prompt = "Add a page \"Rate limits\" at docs/guides/rate-limits.mdx under \"Guides\" with the text: Five a second. No more.";
    let done = site().edit(prompt).await;
    assert_eq!(
        done.file("docs/guides/rate-limits.mdx"),
        "---\ntitle: Rate limits\ndescription: Five a second.\n---\n\nFive a second. No more.\n"
    );
    let wanted = DOCS_JSON.replace("\"guides/b\"\n", "\"guides/b\",\n          \"guides/rate-limits\"\n");
    assert_eq!(done.file("docs/docs.json"), wanted);
    assert_eq!(done.title, "Add the page \"Rate limits\"");
    assert!(done.summary.contains("listed it in `docs/docs.json`"), "{}", done.summary);
}

#[tokio::test]
async fn the_place_of_a_new_page_follows_from_its_section() {
    let done = site().edit("Add a page \"Rate limits\" under \"Guides\"").await;
    let text = done.file("docs/guides/rate-limits.mdx");
    assert!(text.ends_with("---\n\nThis page is still to be written.\n"), "{text}");
    let done = site().edit("Add a page \"Rate limits\" in guides/").await;
    assert!(done.changed().contains(&"docs/guides/rate-limits.mdx".to_owned()), "{:?}", done.changed());
}

#[tokio::test]
async fn a_page_that_is_there_is_left() {
    let done = site().edit("Add a page \"A\" at docs/guides/a.md").await;
    assert!(
        done.changed().is_empty() && done.summary.contains("already a page `docs/guides/a.mdx`"),
        "{}",
        done.summary
    );
}

#[tokio::test]
async fn a_page_that_cannot_be_placed_or_read_fails() {
    for (prompt, part) in [
        ("Add a page \"X\"", "Say where"),
        ("Add a page \"X\" under \"Nowhere\"", "no section `Nowhere`"),
        ("Add a page \"X\" at src/x.md", "not among"),
        ("Add a page \"X\" at docs/../x.md", "not a path"),
        ("Add a page \"X\" at docs/x.txt", "not the path of a page"),
        ("Add a page \"X\" at docs/guides/x", "with its extension"),
        ("Add a page \"X\" at docs/x.mdx with the text: an <open tag", "not be well-formed"),
    ] {
        let sentence = site().fail(prompt).await;
        assert!(sentence.contains(part), "{prompt}: {sentence}");
    }
    let sentence = site().forbidding("docs/x.md").fail("Add a page \"X\" at docs/x.md").await;
    assert!(sentence.contains("it is generated"), "{sentence}");
}

#[tokio::test]
async fn a_section_in_a_file_that_cannot_be_edited_is_not_said_to_be_missing() {
    for (path, text) in [
        ("docs/sidebars.js", "module.exports = { docs: [{ type: 'category', label: 'Guides', items: ['a'] }] };\n"),
        (
            "docs/.vitepress/config.ts",
            "export default { themeConfig: { sidebar: [{ text: \"Guides\", items: [] }] } }\n",
        ),
        ("astro.config.mjs", "export default starlight({ sidebar: [{ label: `guides` }] });\n"),
    ] {
        let sentence =
            Desk::of(&[("docs/a.md", "# A\n"), (path, text)]).fail("Add a page \"X\" under \"Guides\"").await;
        let words = format!(
            "The section `Guides` is in `{path}`, which only a model or a person can edit, so nothing was changed. Leave out \"under …\""
        );
        assert!(sentence.starts_with(&words), "{sentence}");
    }
}

#[tokio::test]
async fn a_page_is_written_as_its_neighbours_are() {
    let desk = Desk::of(&[("docs/SUMMARY.md", "# Summary\n\n- [A](a.md)\n"), ("docs/a.md", "# A\n\nText.\n")]);
    let done = desk.edit("Add a page \"B [c]\" at docs/b.md").await;
    assert_eq!(done.file("docs/b.md"), "# B [c]\n\nThis page is still to be written.\n");
    assert_eq!(done.file("docs/SUMMARY.md"), "# Summary\n\n- [A](a.md)\n- [B \\[c\\]](b.md)\n");
}

#[tokio::test]
async fn links_follow_a_heading_that_is_renamed() {
    let desk = Desk::of(&[
        ("docs/a.md", "# Acme Cloud\n\n## Acme Sky\n\n[up](#acme-cloud) [same](#acme-sky)\n"),
        (
            "docs/b/c.mdx",
            "[x](../a.md#acme-cloud) [y](/a#acme-sky) <a href=\"../a#acme-cloud\">z</a> [gone](x.md#acme-cloud)\n",
        ),
    ]);
    let done = desk.edit("Replace \"Acme Cloud\" with \"Acme Sky\"").await;
    assert_eq!(done.file("docs/a.md"), "# Acme Sky\n\n## Acme Sky\n\n[up](#acme-sky) [same](#acme-sky-1)\n");
    assert_eq!(
        done.file("docs/b/c.mdx"),
        "[x](../a.md#acme-sky) [y](/a#acme-sky-1) <a href=\"../a#acme-sky\">z</a> [gone](x.md#acme-cloud)\n"
    );
    for part in [
        "6 places in 2 files",
        "`docs/a.md`: 1 place, 2 links to",
        "`docs/b/c.mdx`: 3 links to a heading that was renamed",
    ] {
        assert!(done.summary.contains(part), "{}", done.summary);
    }
    let desk = Desk::of(&[("docs/a.md", "# To recieve\n\n[it](#to-recieve)\n")]);
    assert_eq!(desk.edit("fix typos").await.file("docs/a.md"), "# To receive\n\n[it](#to-receive)\n");
}

#[tokio::test]
async fn repairs_links_where_it_is_proven_what_they_meant() {
    let desk = Desk::of(&[
        (
            "docs/a.md",
            "[moved](limits.md#tha-limits) [case](Guides/Limits.md) [guess](twice.md) [none](zebra.md) [out](https://x.example/limits.md)\n[image](gone.png)\n",
        ),
        ("docs/guides/limits.md", "# The limits\n\n[self](#the-lmiits) [fine](../a.md) [prefix](#the)\n"),
        ("docs/x/twice.md", "# Twice\n"),
    ])
    .renamed("docs/limits.md", "docs/guides/limits.md");
    let done = desk.edit("Repair broken internal links and anchors").await;
    assert_eq!(
        done.file("docs/a.md"),
        "[moved](limits.md#tha-limits) [case](guides/limits.md) [guess](twice.md) [none](zebra.md) [out](https://x.example/limits.md)\n[image](gone.png)\n"
    );
    assert_eq!(
        done.file("docs/guides/limits.md"),
        "# The limits\n\n[self](#the-limits) [fine](../a.md) [prefix](#the)\n"
    );
    for part in [
        "`Guides/Limits.md` → `guides/limits.md` (spelling)",
        "`limits.md#tha-limits`: no page is certainly meant; it may be `docs/guides/limits.md`",
        "`twice.md`: no page is certainly meant; it may be `docs/x/twice.md`",
        "`zebra.md`: no page is certainly meant",
        "`#the`: no heading is certainly meant",
    ] {
        assert!(done.summary.contains(part), "{}", done.summary);
    }
    let done = desk.edit("Repair broken anchors in docs/guides").await;
    assert_eq!(done.changed(), ["docs/guides/limits.md"]);
}

#[tokio::test]
async fn a_move_in_the_history_is_followed() {
    let desk =
        Desk::of(&[("docs/a.md", "[moved](limits.md#the-limits)\n"), ("docs/guides/rates.md", "# The limits\n")])
            .renamed("docs/guides/limits.md", "docs/guides/rates.md")
            .renamed("docs/limits.md", "docs/guides/limits.md");
    let done = desk.edit("Repair broken links").await;
    assert_eq!(done.file("docs/a.md"), "[moved](guides/rates.md#the-limits)\n");
    assert!(done.summary.contains("(renamed)"), "{}", done.summary);
}

#[tokio::test]
async fn a_history_that_is_cut_off_is_named_with_what_is_left() {
    let desk = Desk::of(&[("docs/a.md", "[x](gone.md)\n")]).cut("the history is not all here");
    let done = desk.edit("Repair broken links").await;
    assert!(done.changed().is_empty());
    assert!(done.summary.contains("the history is not all here"), "{}", done.summary);
}

#[tokio::test]
async fn typos_that_are_names_or_in_another_language_are_left() {
    let german = "Das ist nicht der Weg, als Nutzer mit dem Recieve zu arbeiten, und recieve ist kein Wort.\n";
    let spanish = "You recieve it, says the path.\n";
    let desk = Desk::of(&[
        ("docs/a.md", "We use ratatui, and ratatui is teh best.\n"),
        ("docs/b.md", "`ratatui::init()`\n"),
        ("docs/deutsch.md", german),
        ("docs/es/c.md", spanish),
        ("docs/d.md", "---\nlang: tr\n---\nYou recieve it.\n"),
        ("docs/tests/e.md", "You recieve it.\n"),
    ]);
    let done = desk.edit("fix typos").await;
    assert_eq!(done.file("docs/a.md"), "We use ratatui, and ratatui is the best.\n");
    assert_eq!(done.changed(), ["docs/a.md"]);
    for part in [
        "`ratatui` may be something else than",
        "`docs/deutsch.md`: it does not seem to be in English",
        "`docs/es/c.md`: its path says",
        "`docs/d.md`: its `lang` says",
    ] {
        assert!(done.summary.contains(part), "{}", done.summary);
    }
}

#[tokio::test]
async fn names_of_files_and_words_that_the_project_has_settled_are_no_typos() {
    let text = "You recieve a seperate copy, an occurence and definately a refered one in a goverment.\n";
    let desk = Desk::of(&[
        ("docs/a.md", text),
        ("docs/skipped/a.md", "You recieve it.\n"),
        ("docs/old/a.md", "You recieve it.\n"),
        (".copydesk.toml", "words = [\"Definately\"]\nexclude = [\"docs/old/**\"]\n"),
        ("src/recieve_mail.rs", ""),
        ("styles/config/vocabularies/Docs/accept.txt", "occurence\nrefer+ed\n"),
        (
            "_typos.toml",
            "[default.extend-words]\nseperate = \"seperate\"\n[files]\nextend-exclude = [\"docs/skipped/\"]\n",
        ),
    ]);
    let done = desk.edit("fix typos").await;
    assert_eq!(done.file("docs/a.md"), text.replace("goverment", "government"));
    assert_eq!(done.changed(), ["docs/a.md"]);
}

#[tokio::test]
async fn a_heading_that_other_pages_link_to_keeps_its_words() {
    let desk = Desk::of(&[
        ("docs/a.md", "# You recieve\n\n# A goverment\n\n[it](#a-goverment)\n"),
        ("docs/b.md", "[x](a.md#you-recieve)\n"),
    ]);
    let done = desk.edit("fix typos").await;
    assert_eq!(done.file("docs/a.md"), "# You recieve\n\n# A government\n\n[it](#a-government)\n");
    assert!(
        done.summary.contains("is also a name") || done.summary.contains("other pages link to"),
        "{}",
        done.summary
    );
}

#[tokio::test]
async fn a_page_that_cannot_be_listed_is_added_and_that_is_said() {
    let done = site().forbidding("docs/docs.json").edit("Add a page \"X\" at docs/guides/x.mdx").await;
    assert_eq!(done.changed(), ["docs/guides/x.mdx"]);
    for part in ["not listed in any navigation file", "`docs/docs.json`: it is generated"] {
        assert!(done.summary.contains(part), "{}", done.summary);
    }
}

#[tokio::test]
async fn a_navigation_that_a_script_makes_is_named() {
    let desk = Desk::of(&[
        ("astro.config.mjs", "export default makeSidebar()\n"),
        ("other/astro.config.mjs", ""),
        ("docs/a.md", "# A\n"),
    ]);
    let done = desk.edit("Add a page \"X\" at docs/x.md").await;
    assert_eq!(done.changed(), ["docs/x.md"]);
    assert!(done.summary.contains("`astro.config.mjs`: a script makes the navigation"), "{}", done.summary);
    assert!(!done.summary.contains("other/astro"), "{}", done.summary);
}

#[tokio::test]
async fn a_section_that_is_there_twice_or_empty_is_not_guessed() {
    let group = |name: &str, pages: &str| format!("{{\"group\": \"{name}\", \"pages\": [{pages}]}}");
    let groups = [group("A", "\"a\""), group("a", "\"b\""), group("Empty", "")].join(",");
    let text = format!("{{\"navigation\": {{\"groups\": [{groups}]}}}}");
    let desk = Desk::of(&[("docs/docs.json", &text), ("docs/a.md", "# A\n"), ("docs/b.md", "# B\n")]);
    assert!(desk.fail("Add a page \"X\" under \"A\"").await.contains("several sections `A`"));
    assert!(desk.fail("Add a page \"X\" under \"Empty\"").await.contains("lists no page"));
}

#[tokio::test]
async fn only_so_many_files_are_changed_and_each_counts_once() {
    let desk = Desk::of(&[("docs/a.md", "# A\n\nred\n"), ("docs/b.md", "# B\n\nred\n")]).at_most(2);
    let outcome = desk.edit_from(1, &["Replace \"red\" with \"blue\"", "Replace \"blue\" with \"green\""]).await;
    assert_eq!(outcome.changed(), ["docs/a.md", "docs/b.md"]);
    assert_eq!(outcome.file("docs/b.md"), "# B\n\ngreen\n");
    let add = "Add a page \"C\" at docs/c.md";
    assert!(desk.fail(&format!("Replace \"red\" with \"blue\"\n{add}")).await.contains("more than 2 files"));
    assert_eq!(Desk::of(&[]).at_most(1).edit(add).await.changed(), ["docs/c.md"]);
}
