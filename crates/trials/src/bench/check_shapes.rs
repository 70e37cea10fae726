//! Folders that were made to take long: each is checked at half its size and whole, and what grows faster than its
//! input shows by a factor well above two. Twice the size would be more than is read of a file.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use crate::figures::{millis, thousands};
use crate::process::{Run, megabytes, watch};

/// How often each is checked; the fastest counts.
const TIMES: usize = 3;

/// A folder that was made to take long.
struct Shape {
    what: &'static str,
    size: usize,
    write: fn(&Path, usize),
}

const SHAPES: [Shape; 7] = [
    Shape { what: "anchors that are missing in a page of as many headings", size: 75_000, write: missing_anchors },
    Shape { what: "entries in a configuration of VitePress", size: 10_000, write: large_configuration },
    Shape { what: "redirects, with more than twice as many links", size: 20_000, write: redirects },
    Shape { what: "pages with 60 broken links each", size: 3_000, write: broken_links },
    Shape { what: "snippets that take in each other", size: 5_000, write: snippets },
    Shape { what: "patterns in a .gitignore", size: 20_000, write: ignored },
    Shape { what: "brackets and quotes that nothing closes", size: 200_000, write: unclosed },
];

pub(super) fn bench(binary: &Path) {
    for shape in SHAPES {
        let [half, whole] = [shape.size / 2, shape.size].map(|size| {
            let folder = tempfile::tempdir().unwrap();
            (shape.write)(folder.path(), size);
            fastest(binary, folder.path())
        });
        println!(
            "check, {} {}: {}, memory at most {}; {:.1} times as long as half as many",
            thousands(shape.size as u64),
            shape.what,
            millis(whole.time),
            megabytes(whole.peak),
            whole.time.as_secs_f64() / half.time.as_secs_f64(),
        );
    }
}

fn fastest(binary: &Path, folder: &Path) -> Run {
    let run = |_| {
        let (run, output) = watch(Command::new(binary).arg("check").arg(folder));
        assert!(output.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&output.stdout));
        run
    };
    (0..TIMES).map(run).min_by_key(|run| run.time).unwrap()
}

fn write(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// A text of as many parts.
fn parts(size: usize, mut part: impl FnMut(&mut String, usize)) -> String {
    let mut text = String::new();
    (0..size).for_each(|number| part(&mut text, number));
    text
}

fn missing_anchors(folder: &Path, size: usize) {
    let headings = parts(size, |text, number| {
        let _ = write!(text, "## Part {number}\n\n");
    });
    let links = parts(size, |text, number| {
        let _ = writeln!(text, "[x](#prat-{number})\n");
    });
    write(folder, "a.md", &format!("# A\n\n{headings}{links}"));
}

fn large_configuration(folder: &Path, size: usize) {
    let entries = parts(size, |text, number| {
        let _ = writeln!(text, "    {{ text: 'Page {number}', link: '/page-{number}' }},");
    });
    write(folder, ".vitepress/config.ts", &format!("export default {{ themeConfig: {{ sidebar: [\n{entries}] }} }}\n"));
    write(folder, "index.md", "# Home\n");
}

fn redirects(folder: &Path, size: usize) {
    let listed = parts(size, |text, number| {
        let _ = writeln!(text, "{{\"source\": \"/old/{number}/:slug*\", \"destination\": \"/new/{number}\"}},");
    });
    let listed = listed.trim_end_matches(",\n");
    write(folder, "docs.json", &format!("{{\"navigation\": {{\"pages\": [\"a\"]}}, \"redirects\": [{listed}]}}\n"));
    let links = parts(size * 5 / 2, |text, number| {
        let _ = writeln!(text, "[x](/old/{}/{number})", number % (size * 2));
    });
    write(folder, "a.mdx", &links);
}

fn broken_links(folder: &Path, size: usize) {
    for number in 0..size {
        let links = parts(60, |text, link| {
            let _ = writeln!(text, "[x](../part-{}/pgae-{}.md)", link % 50, (number * 7 + link * 13) % size);
        });
        write(folder, &format!("part-{}/page-{number}.md", number % 50), &format!("# Page\n\n{links}"));
    }
}

fn snippets(folder: &Path, size: usize) {
    write(folder, "docs.json", "{\"navigation\": {\"pages\": [\"page-0\"]}}");
    for number in 0..size {
        let (one, other) = ((number + 1) % size, (number * 31 + 7) % size);
        let text = format!(
            "import One from '/snippets/s{one}.mdx'\nimport Other from '/snippets/s{other}.mdx'\n\n## Part {number}\n\n\
             <One />\n\n[x](#none)\n"
        );
        write(folder, &format!("snippets/s{number}.mdx"), &text);
    }
    write(folder, "page-0.mdx", "import S from '/snippets/s0.mdx'\n\n<S />\n\n[x](#none)\n");
}

fn ignored(folder: &Path, size: usize) {
    let patterns = parts(size, |text, number| {
        let _ = writeln!(text, "made-{number}-*/**/*.html");
    });
    write(folder, ".gitignore", &patterns);
    let links = parts(size, |text, number| {
        let _ = writeln!(text, "[x](made-{number}/page.md)");
    });
    write(folder, "a.md", &links);
}

fn unclosed(folder: &Path, size: usize) {
    let opened = ["[", "![", "<a href=\"", "{", "`", "(", "<!--", "**"];
    let text = parts(size, |text, number| text.push_str(opened[number % opened.len()]));
    write(folder, "a.mdx", &text);
    write(folder, "b.md", &text);
}
