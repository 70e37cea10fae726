//! The checks against the generators themselves: what each of them built from a fixture site was crawled for links that
//! lead nowhere (`scripts/truth`), and the checks must say the same, link by link.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use copydesk_checks::{Check, Folder, SiteSettings, check_all};

/// What a generator made of a labelled link: `there`, `missing`, or `absent` if it is on no page.
type Truth = BTreeMap<String, String>;

fn sites() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/truth/sites")
}

/// The files below a folder with their paths from it.
fn files(root: &Path, folder: &str, found: &mut Vec<String>) {
    for entry in fs::read_dir(root.join(folder)).expect("a fixture") {
        let entry = entry.expect("a fixture");
        let name = entry.file_name().into_string().expect("a plain name");
        let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
        if entry.file_type().expect("a fixture").is_dir() { files(root, &path, found) } else { found.push(path) }
    }
}

/// The labels of a line: `L17`, `I3`, `U5`.
fn labels(line: &str) -> Vec<String> {
    line.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| {
            let digits = word.strip_prefix(['L', 'I', 'U']).unwrap_or_default();
            !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
        .map(str::to_owned)
        .collect()
}

/// Where each label stands: a file and a line, and the line that defines the reference of that name if there is one.
fn places(root: &Path) -> BTreeMap<String, BTreeSet<(String, u32)>> {
    let mut paths = Vec::new();
    files(root, "", &mut paths);
    let mut places: BTreeMap<String, BTreeSet<(String, u32)>> = BTreeMap::new();
    for path in paths {
        let Ok(text) = fs::read_to_string(root.join(&path)) else { continue };
        let lines: Vec<&str> = text.lines().collect();
        for (number, line) in (1..).zip(&lines) {
            for label in labels(line) {
                let place = places.entry(label).or_default();
                place.insert((path.clone(), number));
                // `[L1][name]` is found where the name is defined.
                let name = line.split_once("][").and_then(|(_, rest)| rest.split_once(']')).map(|(name, _)| name);
                let defined = name.and_then(|name| {
                    (1..)
                        .zip(&lines)
                        .find(|(_, line)| line.starts_with(&format!("[{name}]: ")))
                        .map(|(number, _)| number)
                });
                place.extend(defined.map(|number| (path.clone(), number)));
            }
        }
    }
    places
}

/// Where the checks differ from what the generator did, in words.
fn differences(name: &str) -> Vec<String> {
    let root = sites().join(name);
    let truth = fs::read_to_string(sites().join(format!("{name}.json"))).expect("scripts/truth writes it");
    let truth: Truth = serde_json::from_str(&truth).expect("scripts/truth writes it");
    let report = check_all(&Folder::new(&root), &SiteSettings::default()).expect("a fixture");
    let of_links = [Check::Links, Check::Anchors, Check::Images, Check::Navigation, Check::Redirects];
    let (found, others): (Vec<_>, Vec<_>) =
        report.findings.iter().partition(|finding| of_links.contains(&finding.check));
    let mut differences: Vec<String> = others.iter().map(|finding| format!("{finding:?}")).collect();
    let places = places(&root);
    let mut of_labels = BTreeSet::new();
    for (label, places) in &places {
        let told = found.iter().find(|finding| places.contains(&(finding.path.clone(), finding.line)));
        of_labels.extend(places);
        let expected = match truth.get(label) {
            _ if label.starts_with('U') => continue,
            Some(expected) => expected.as_str(),
            None => {
                differences.push(format!("{label} is not in the truth: run scripts/truth {name}"));
                continue;
            }
        };
        let line = places.first().map(|(path, line)| format!("{path}:{line}")).unwrap_or_default();
        match told {
            Some(finding) if expected != "missing" => {
                differences.push(format!("{label} ({line}) is {expected}, but: {}", finding.message));
            }
            None if expected == "missing" => {
                differences.push(format!("{label} ({line}) is missing, but nothing is said"))
            }
            _ => {}
        }
    }
    for finding in found.iter().filter(|finding| !of_labels.contains(&(finding.path.clone(), finding.line))) {
        differences.push(format!("no label: {finding:?}"));
    }
    let untold = places.keys().filter(|label| label.starts_with('U')).count() as u64;
    // Links, anchors, images and snippets; what navigation files list has no labels.
    let kinds = &report.tally.kinds()[..4];
    let left: Vec<_> = kinds.iter().map(|(kind, count)| (*kind, count.not_judged.clone())).collect();
    let left_count: u64 = kinds.iter().map(|(_, count)| count.left()).sum();
    if left_count != untold {
        differences.push(format!("{left_count} are not judged, {untold} labels say so: {left:?}"));
    }
    differences
}

#[test]
fn the_checks_say_what_the_generators_did() {
    let names = fs::read_dir(sites()).into_iter().flatten().map(|entry| entry.expect("a fixture"));
    let folders = names.filter(|entry| entry.file_type().expect("a fixture").is_dir());
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let mut wrong = Vec::new();
    for name in names {
        wrong.extend(differences(&name).into_iter().map(|difference| format!("{name}: {difference}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
