use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::check_shapes;
use crate::args::program;
use crate::figures::{Latencies, millis, thousands};
use crate::process::{megabytes, watch};

/// How long checking a folder of pages takes, and whether folders that were made to take long do.
#[derive(Debug, Clone, clap::Args)]
pub struct CheckOptions {
    /// The program `copydesk`.
    #[arg(long, value_parser = program)]
    pub binary: PathBuf,
    /// How many pages.
    #[arg(long, default_value_t = 1000)]
    pub pages: usize,
    /// How often to check them.
    #[arg(long, default_value_t = 10)]
    pub times: usize,
    /// A folder to check instead, such as that of a real site.
    #[arg(long)]
    pub folder: Option<PathBuf>,
}

/// Links in a page.
const LINKS: usize = 20;
/// Pages in a folder.
const FOLDER: usize = 50;

/// Checks a folder of pages again and again, and prints how long it takes; then folders that were made to take long.
pub fn bench_check(options: &CheckOptions) {
    if let Some(folder) = &options.folder {
        println!("check, {}: {}", folder.display(), repeated(options, folder));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let bytes = write_site(folder.path(), options.pages);
    println!(
        "check, {} MDX pages of {:.1} kB with {LINKS} links each: {}",
        thousands(options.pages as u64),
        bytes as f64 / options.pages as f64 / 1e3,
        repeated(options, folder.path()),
    );
    check_shapes::bench(&options.binary);
}

/// How long a folder takes, how much memory, and what was said at the end.
fn repeated(options: &CheckOptions, folder: &Path) -> String {
    let mut times = Latencies::default();
    let mut peak = 0;
    let mut said = String::new();
    // The first run reads the pages from the disk; not counted.
    for run in 0..=options.times {
        let (took, output) = watch(Command::new(&options.binary).arg("check").arg(folder));
        if run > 0 {
            times.add(took.time);
            peak = peak.max(took.peak);
        }
        said = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.code().is_some_and(|code| code < 2), "{said}");
    }
    let (median, worst) = (millis(times.within(0.5)), millis(times.within(1.0)));
    let last = said.lines().last().unwrap_or_default();
    format!("median {median}, worst {worst}, memory at most {} ({last})", megabytes(peak))
}

/// Writes a site whose navigation lists every page, and gives the size of all pages.
fn write_site(folder: &Path, pages: usize) -> usize {
    let mut bytes = 0;
    let mut groups = Vec::new();
    for first in (0..pages).step_by(FOLDER) {
        let listed: Vec<String> = (first..pages.min(first + FOLDER)).map(address).collect();
        std::fs::create_dir_all(folder.join(format!("part-{:02}", first / FOLDER))).unwrap();
        groups.push(json!({"group": format!("Part {}", first / FOLDER), "pages": listed}));
    }
    for page in 0..pages {
        let text = page_text(page, pages);
        bytes += text.len();
        std::fs::write(folder.join(format!("{}.mdx", address(page))), text).unwrap();
    }
    let docs = json!({"name": "Acme", "navigation": {"groups": groups}});
    std::fs::write(folder.join("docs.json"), docs.to_string()).unwrap();
    bytes
}

fn address(page: usize) -> String {
    format!("part-{:02}/page-{page:04}", page / FOLDER)
}

/// A page of 6 to 10 kilobytes: sections with prose, links to sections of other pages, components, code and a table.
fn page_text(page: usize, pages: usize) -> String {
    let mut text = format!(
        "---\ntitle: \"Page {page}\"\ndescription: \"How part {page} of the product is used.\"\n---\n\n\
         Part {page} of the product is described here.\n"
    );
    // Pages differ in length.
    let sentences = 3 + page % 4;
    for section in 0..LINKS / 2 {
        let near = (page + section * 13 + 1) % pages;
        let far = (page + section * 101 + 7) % pages;
        let _ = write!(text, "\n## Step {section}\n\n");
        for sentence in 0..sentences {
            let _ = write!(
                text,
                "Choose what is wanted in step {section}, and the service keeps `choice-{sentence}` until somebody \
                 makes another one. "
            );
        }
        let _ = write!(
            text,
            "See [page {near}](/{}#step-{}) and [page {far}](/{}).\n\n<Note>\n  It takes **one** minute until the \
             others see it.\n</Note>\n\n```sh\nproduct configure --part {page} --step {section}\n```\n",
            address(near),
            (section + 1) % (LINKS / 2),
            address(far),
        );
    }
    text.push_str("\n| Setting | Meaning |\n|---|---|\n| `a` | The first |\n| `b` | The second |\n");
    text
}
