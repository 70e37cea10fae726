use std::sync::atomic::Ordering;

use copydesk_checks::{Scope, SiteSettings, check_change};

use super::change::changed;
use super::tree::{Tree, docs_json};

fn large() -> Tree {
    let pages: Vec<String> = (0..2000).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = pages.iter().map(String::as_str).collect();
    let mut tree = Tree::default().with("docs/docs.json", &docs_json(&names));
    for number in 0..2000 {
        let text = format!(
            "# Page {number}\n\n## Part\n\n[next](/p{}) [part](/p{}#part)\n",
            (number + 1) % 2000,
            (number + 7) % 2000
        );
        tree = tree.with(&format!("docs/p{number}.mdx"), &text);
    }
    tree
}

/// How many files are read, and how often folders are listed, to check a change.
fn cost(base: &Tree, now: &Tree) -> (usize, usize) {
    let (base, now) = (base.clone(), now.clone());
    let settings = SiteSettings::new(&["docs".to_owned()]);
    check_change(&base, &now, &changed(&base, &now), &settings, &Scope::new(&settings.docs_paths))
        .expect("files in memory");
    let sum = |counter: fn(&Tree) -> usize| counter(&base) + counter(&now);
    (sum(|tree| tree.reads.load(Ordering::Relaxed)), sum(|tree| tree.lists.load(Ordering::Relaxed)))
}

#[test]
fn an_edit_of_one_page_reads_a_handful_of_files() {
    let base = large();
    let text = &base.files["docs/p5.mdx"];
    for (edit, most) in [
        (text.replace("# Page", "New words.\n\n# Page"), 14),
        (format!("{text}\n## More\n\n[x](/p9#more) [y](/nowhere)\n"), 16),
    ] {
        let (reads, _) = cost(&base, &base.clone().with("docs/p5.mdx", &edit));
        assert!(reads <= most, "{reads} reads");
    }
    let (reads, lists) = cost(&base, &base.clone().with("docs/p5.mdx", &format!("{text}more\n")));
    assert!(lists <= 5, "{reads} reads, {lists} lists");
    let (reads, _) = cost(&base, &base.clone().with("docs/new.mdx", "# New\n"));
    assert!(reads <= 14, "{reads} reads");
}

#[test]
fn a_heading_that_goes_is_searched_for_once() {
    let base = large();
    let now = base.clone().with("docs/p5.mdx", "# Page 5\n");
    let (reads, _) = cost(&base, &now);
    assert!((2000..2700).contains(&reads), "{reads} reads");
}
