use std::fmt::Write;
use std::time::Instant;

use copydesk_checks::{Folder, SiteSettings, check_all};

/// Prints how long all checks take over 1,000 MDX pages on disk: `cargo test --release -p copydesk-checks --test site -- \
/// --ignored --nocapture speed`.
#[test]
#[ignore = "prints a figure"]
fn a_thousand_pages() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = 0;
    for number in 0..1000 {
        let text = page(number);
        bytes += text.len();
        let path = folder.path().join(format!("g{}", number % 20));
        std::fs::create_dir_all(&path).unwrap();
        std::fs::write(path.join(format!("p{number}.mdx")), text).unwrap();
    }
    let pages: Vec<String> = (0..1000).map(|number| format!("\"g{}/p{number}\"", number % 20)).collect();
    let navigation =
        format!("{{\"navigation\": {{\"groups\": [{{\"group\": \"G\", \"pages\": [{}]}}]}}}}", pages.join(","));
    std::fs::write(folder.path().join("docs.json"), navigation).unwrap();
    for _ in 0..5 {
        let begin = Instant::now();
        let report = check_all(&Folder::new(folder.path()), &SiteSettings::default()).unwrap();
        println!(
            "{} pages, {} kB, {:?}, {} findings",
            report.pages,
            bytes / 1000,
            begin.elapsed(),
            report.findings.len()
        );
        assert_eq!((report.pages, report.findings.len()), (1000, 0));
    }
}

fn page(number: usize) -> String {
    let mut text = format!("---\ntitle: \"Page {number}\"\ndescription: What page {number} is about\n---\n\n");
    for part in 0..10 {
        let next = (number * 7 + part * 13) % 1000;
        let other = (number + part) % 1000;
        let _ = write!(
            text,
            "## Part {part}\n\nSome *words* about the [next page](/g{}/p{next}#part-{part}), with `code` and <b>tags</b>, \
             that go on for a while so that the page has a length as pages have it in practice, and then some more words that \
             say little but take up the room that words take up on a page that somebody wrote to explain how something is \
             done.\n\n\
             <Steps>\n  <Step title=\"Step {part}\">\n    Read [another](/g{}/p{other}) page.\n\n    ```bash\n    run --now \
             {{x}} <y>\n    ```\n  </Step>\n</Steps>\n\n| name | meaning |\n|---|---|\n| `a` | first |\n| `b` | second, {{value}} |\n\n\
             - one item of a list\n- another item that is longer than the first\n\n<Note>Mind the gap.</Note>\n\n",
            next % 20,
            other % 20
        );
    }
    text
}
