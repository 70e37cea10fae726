use copydesk_checks::{Check, Judge, Rules, Scope, Severity, SiteSettings, check_all, check_change_by, external_links};

use super::change::{changed, compare};
use super::tree::{Tree, briefly, found};

#[test]
fn rules_leave_out_and_weigh() {
    let tree = Tree::of([
        ("a.md", "[x](gone.md) ![i](gone.png)\n"),
        ("old/b.md", "[x](gone.md)\n"),
        ("made/c.md", "[x](gone.md) ![i](gone.png)\n"),
    ]);
    assert_eq!(found(&tree).len(), 5);
    let ruled = tree.with(
        ".copydesk.toml",
        "exclude = ['made']\n[checks]\nimages = 'warning'\n[checks.links]\nexclude = ['old/**']\n",
    );
    let report = check_all(&ruled, &SiteSettings::default()).unwrap();
    let of: Vec<_> = report.findings.iter().map(|it| (it.check, it.path.as_str(), it.severity)).collect();
    assert_eq!(of, [(Check::Links, "a.md", Severity::Error), (Check::Images, "a.md", Severity::Warning)]);
    assert_eq!(report.pages, 2);
    let off = ruled.clone().with(".copydesk.toml", "[checks]\nlinks = 'off'\n");
    assert_eq!(found(&off).len(), 2);
    // What counts for nothing is said.
    assert!(check_all(&ruled.with(".copydesk.toml", "[checks]\nlinsk = 'off'\n"), &SiteSettings::default()).is_err());
    let rules = Rules::parse("words = ['Kubernetes', 'frobnicate']").unwrap();
    assert!(rules.words().contains("frobnicate"));
}

#[test]
fn a_change_is_judged_by_the_rules_of_its_base() {
    let base = Tree::of([("docs/a.md", "# A\n"), ("docs/old/b.md", "# B\n")]);
    let broken = |tree: Tree| tree.with("docs/a.md", "[x](gone.md)\n").with("docs/old/b.md", "[x](gone.md)\n");
    let silent = "exclude = ['docs/**']\n";
    let links = |comparison: copydesk_checks::Comparison| {
        comparison.new.iter().filter(|it| it.check == Check::Links).map(|it| it.path.clone()).collect::<Vec<_>>()
    };
    let now = broken(base.clone()).with(".copydesk.toml", silent);
    assert_eq!(links(compare(&base, &now)), ["docs/a.md", "docs/old/b.md"]);
    let ruled = base.clone().with(".copydesk.toml", "[checks.links]\nseverity = 'warning'\nexclude = ['old']\n");
    let comparison = compare(&ruled, &broken(ruled.clone()));
    assert!(comparison.new.iter().all(|it| !it.is_error()), "{comparison:?}");
    let summary = comparison.checks.iter().find(|it| it.check == "links").unwrap();
    assert!(summary.ran && summary.findings[0].warning);
    assert_eq!(links(comparison), ["docs/a.md"]);
    // Rules that cannot be read leave nothing out, and none say what a job may touch.
    let bad = base.with(".copydesk.toml", "exclude = 1\n");
    assert_eq!(links(compare(&bad, &broken(bad.clone()))).len(), 2);
    let all = bad.with(".copydesk.toml", "exclude = ['**']\n");
    let touched = compare(&all, &all.clone().with("package.json", "{}\n"));
    assert_eq!(touched.new.iter().map(|it| it.check).collect::<Vec<_>>(), [Check::Scope]);
}

#[test]
fn comments_leave_lines_out() {
    let page = "\
[a](gone.md) <!-- copydesk-ignore-line -->
[b](gone.md) <!-- copydesk-ignore-line images -->

<!-- copydesk-ignore-next-line links: made by a program -->

[c](gone.md) ![c](gone.png)
[d](gone.md)

<!-- copydesk-ignore-start links, images -->
[e](gone.md)

![f](gone.png)
<!-- copydesk-ignore-end -->
[g](gone.md)

```md
<!-- copydesk-ignore-start bogus -->
```
`<!-- copydesk-ignore-start bogus -->`
";
    let report = check_all(&Tree::of([("a.md", page)]), &SiteSettings::default()).unwrap();
    let of: Vec<_> = report.findings.iter().map(|it| (it.check, it.line)).collect();
    assert_eq!(of, [(Check::Links, 2), (Check::Images, 6), (Check::Links, 7), (Check::Links, 14)]);
    let mdx = "# A\n\n{/* copydesk-ignore-next-line links */}\n[c](gone.mdx)\n";
    assert_eq!(found(&Tree::of([("a.mdx", mdx)])), []);
}

#[test]
fn comments_that_say_nothing_are_findings() {
    for (page, line, part) in [
        ("<!-- copydesk-ignore-next-line linsk -->\n[a](gone.md)\n", 1, "no check `linsk`"),
        ("<!-- copydesk-ignore-file -->\n[a](gone.md)\n", 1, "no `copydesk-ignore-file`"),
        ("\n<!-- copydesk-ignore-start -->\n[a](gone.md)\n", 2, "has no `copydesk-ignore-end`"),
        ("[a](gone.md)\n\n<!-- copydesk-ignore-end -->\n", 3, "ends nothing"),
    ] {
        let findings = check_all(&Tree::of([("a.md", page)]), &SiteSettings::default()).unwrap().findings;
        let of: Vec<_> = findings.iter().filter(|it| it.check == Check::Suppressions).collect();
        assert!(findings.len() == 2 && of.len() == 1, "{page}: {findings:?}");
        assert!(of[0].line == line && of[0].message.contains(part), "{:?}", of[0]);
    }
}

#[test]
fn a_job_does_not_silence_itself() {
    let key = format!("ghp_{}", "q7Rz2LmX9vKp4WnB8sYd3HgT6cJf1Q2qihlP");
    let base = Tree::of([("docs/a.md", "# A\n\n[b](b.md) <!-- copydesk-ignore-line -->\n"), ("docs/b.md", "# B\n")]);
    let new = |now: &Tree| briefly(&compare(&base, now).new).into_iter().map(|it| it.0).collect::<Vec<_>>();
    // The line was covered before.
    assert_eq!(new(&base.clone().without("docs/b.md")), []);
    // These are not the same lines.
    let other = "# A\n\n[b](b.md) [c](gone.md) <!-- copydesk-ignore-line -->\n";
    assert_eq!(new(&base.clone().with("docs/a.md", other)), [Check::Links]);
    let around = "<!-- copydesk-ignore-start -->\n[c](gone.md)\n\n[b](b.md)\n<!-- copydesk-ignore-end -->\n";
    let now = base.clone().with("docs/a.md", around);
    assert_eq!(new(&now), [Check::Links]);
    // Whoever changes the files by hand may leave something out, but no secret.
    let settings = SiteSettings::default();
    let judge = Judge { scope: None, rules: &Rules::default(), heeds_new_comments: true };
    let by_hand = |now: &Tree| {
        let compared = check_change_by(&base, now, &changed(&base, now), &settings, judge).unwrap();
        briefly(&compared.new).into_iter().map(|it| it.0).collect::<Vec<_>>()
    };
    assert_eq!(by_hand(&now), []);
    let secret = format!("{key} [c](gone.md) <!-- copydesk-ignore-line -->\n");
    assert_eq!(by_hand(&base.clone().with("docs/a.md", &secret)), [Check::Secrets]);
    assert!(Scope::new(&["docs".to_owned()]).may_write("docs/a.md").is_ok());
}

#[test]
fn links_to_other_hosts_are_listed_with_their_places() {
    let page = "# A\n\n[a](https://example.com/x#y) ![b](HTTP://example.org/i.png) [c](mailto:a@b.c) [d](d.md)\n\
                `[e](https://code.example)` [f](https://example.com/{id})\n\
                [g](https://example.net) <!-- copydesk-ignore-line external_links -->\n";
    let tree = Tree::of([("a.md", page), ("old/b.md", "<https://example.com/old>\n")]);
    let rules = Rules::parse("[checks.external_links]\nexclude = ['old']\n").unwrap();
    let links = external_links(&tree, &SiteSettings::default(), &rules, &|_| true).unwrap();
    let of: Vec<_> = links.iter().map(|it| (it.line, it.column, it.address.as_str())).collect();
    assert_eq!(of, [(3, 5, "https://example.com/x"), (3, 35, "HTTP://example.org/i.png")]);
    assert_eq!(external_links(&tree, &SiteSettings::default(), &rules, &|_| false).unwrap(), []);
}
