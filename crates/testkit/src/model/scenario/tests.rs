use std::fs;
use std::path::Path;

use super::*;

/// A good scenario in a folder that goes away.
fn good() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(&folder, "prompt.md", "Fix the page.\n");
    put(&folder, "before/docs/a.md", "# A\n");
    put(&folder, "before/docs/b.md", "# B\n");
    put(&folder, "after/docs/a.md", "# A, fixed\n");
    put(&folder, "model.toml", "[[step]]\ntext = \"Done.\"\n");
    put(&folder, "scenario.toml", "about = \"A test.\"\n[expect]\nstatus = \"completed\"\noutcome = \"pr_created\"\n");
    folder
}

fn put(folder: &tempfile::TempDir, path: &str, text: &str) {
    let path = folder.path().join("case").join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn load(folder: &tempfile::TempDir) -> Result<Scenario, String> {
    Scenario::load(&folder.path().join("case"))
}

/// What is said about a good scenario with one more file, or with one other.
#[track_caller]
fn refused(path: &str, text: &str, words: &str) {
    let folder = good();
    load(&folder).unwrap();
    put(&folder, path, text);
    let problem = load(&folder).unwrap_err();
    assert!(problem.starts_with("scenario case: ") && problem.contains(words), "{problem}");
}

/// The good scenario with more in `scenario.toml`.
fn with(top: &str, expect: &str, rest: &str) -> String {
    let good = "status = \"completed\"\noutcome = \"pr_created\"";
    format!("about = \"A test.\"\n{top}\n[expect]\n{good}\n{expect}\n{rest}")
}

#[test]
fn a_scenario_is_read() {
    let folder = good();
    put(&folder, "prompt-2.md", "Once more.");
    put(&folder, "before/docs/key.md", "SE{{+}}CRET\n");
    put(&folder, "sources/sdk/v2/src/a.rs", "2\n");
    put(&folder, "sources/sdk/v1/src/a.rs", "1\n");
    let rest = "[project]\non_findings = \"fail\"\n[symlinks]\n\"docs/link.md\" = \"a.md\"\n[files]\n\"AGENTS.md\" = \"Be kind.\"\n\
        [generate.\"docs/big.md\"]\nhead = \"H\\n\"\nline = \"row {n}\\n\"\nbytes = 30\ntail = \"T\\n\"\n\
        [after]\ndeleted = [\"docs/b.md\"]\n[[after.edit]]\npath = \"docs/big.md\"\nold = \"row 2\"\nnew = \"row two\"\n";
    put(&folder, "scenario.toml", &with("providers = [\"anthropic\"]", "findings = { links = 1 }", rest));
    let scenario = load(&folder).unwrap();
    assert_eq!(scenario.apis, [Api::Anthropic]);
    assert_eq!(scenario.prompts, ["Fix the page.", "Once more."]);
    let tags: Vec<&str> = scenario.sources["sdk"].iter().map(|(tag, _)| tag.as_str()).collect();
    assert_eq!((tags, scenario.sources["sdk"][1].1.len()), (vec!["v1", "v2"], 1));
    assert_eq!(scenario.prompt(0, "7"), "Fix the page.\n\n[[script:case#7]]");
    assert_eq!(scenario.prompt(1, "7"), "Once more.");
    assert_eq!((scenario.project.on_findings, scenario.expect.findings["links"]), (Policy::Fail, 1));
    let file = |text: &str| Some(Entry::File(text.as_bytes().to_vec()));
    assert_eq!(scenario.before.get("docs/big.md").cloned(), file("H\nrow 1\nrow 2\nrow 3\nrow 4\nT\n"));
    assert_eq!(scenario.before.get("docs/key.md").cloned(), file("SECRET\n"));
    assert_eq!(scenario.before["docs/link.md"], Entry::Symlink("a.md".to_owned()));
    let after = scenario.after.unwrap();
    assert_eq!(after.get("docs/a.md").cloned(), file("# A, fixed\n"));
    assert_eq!(after.get("docs/big.md").cloned(), file("H\nrow 1\nrow two\nrow 3\nrow 4\nT\n"));
    assert!(!after.contains_key("docs/b.md") && after.contains_key("AGENTS.md"));
}

#[test]
fn mistakes_are_named() {
    refused("scenario.toml", &with("abuot = 1", "", ""), "unknown field `abuot`");
    refused("scenario.toml", &with("", "titel = 1", ""), "unknown field `titel`");
    refused("scenario.toml", &with("", "", "[project]\ndocs = []"), "unknown field `docs`");
    refused("scenario.toml", &with("", "", "[model]\nkey = \"k\""), "unknown field `key`");
    refused("scenario.toml", &with("", "", "[job]\npr = true"), "unknown field `pr`");
    refused("scenario.toml", &with("providers = [\"gemini\"]", "", ""), "unknown variant `gemini`");
    refused("scenario.toml", &with("providers = []", "", ""), "there is no provider");
    refused("scenario.toml", &with("", "", "[after]\ndeleted = [\"docs/c.md\"]"), "docs/c.md was not there before");
    refused("scenario.toml", &with("", "", "[after]\ndeleted = [\"docs/a.md\"]"), "or is there afterwards");
    refused("scenario.toml", &with("", "", "[files]\n\"docs/a.md\" = \"\""), "docs/a.md is there twice");
    let edit = |path: &str, old: &str| format!("[[after.edit]]\npath = \"{path}\"\nold = \"{old}\"\nnew = \"\"");
    refused("scenario.toml", &with("", "", &edit("docs/c.md", "B")), "there is no file docs/c.md");
    refused("scenario.toml", &with("", "", &edit("docs/b.md", "C")), "\"C\" is not once in docs/b.md");
    let generated = "[generate.\"docs/c.md\"]\nline = \"x\"\nbytes = 99000000";
    refused("scenario.toml", &with("", "", generated), "at most 16 MiB");
    refused("model.toml", "[[step]]\ntxt = 1", "model.toml: ");
    refused("after/docs/b.md", "# B\n", "after/docs/b.md is the same as before");
    refused("prompt.md", " \n", "a prompt is empty");
    refused("notes.md", "x", "notes.md is no part of a scenario");
    refused("sources/sdk/a.rs", "x", "sources/sdk/a.rs: ");
    refused("prompt-3.md", "x", "prompt-3.md is no part of a scenario");
}

#[test]
fn expectations_fit_each_other() {
    let expect = |text: &str| format!("about = \"A test.\"\n[expect]\n{text}");
    refused("scenario.toml", &expect("status = \"completed\"\noutcome = \"fine\""), "there is no outcome \"fine\"");
    refused("scenario.toml", &expect("status = \"failed\"\noutcome = \"pr_created\""), "is completed");
    refused(
        "scenario.toml",
        &expect("status = \"failed\"\noutcome = \"error\""),
        "there must be an `after` exactly if",
    );
    refused(
        "scenario.toml",
        &expect("status = \"failed\"\noutcome = \"error\"\ndraft = true"),
        "a pull request that is not there",
    );
    let earlier = "[[earlier]]\nstatus = \"completed\"\noutcome = \"no_changes\"";
    refused("scenario.toml", &with("", "", earlier), "there are 1 prompts, but 1 entries");
}

#[test]
fn every_scenario_of_the_repository_can_be_read() {
    let scenarios = all();
    assert!(scenarios.len() >= 27, "{}", scenarios.len());
    for scenario in &scenarios {
        let what = &scenario.name;
        assert!(scenario.about.ends_with('.'), "{what}: {:?} is no sentence", scenario.about);
        let folder = tempfile::tempdir().unwrap();
        check_out(&scenario.before, folder.path()).unwrap();
        check_out_again(&scenario.before, folder.path());
    }
}

/// Looks whether what was checked out is what it should be.
fn check_out_again(files: &Files, folder: &Path) {
    for (path, entry) in files {
        let path = folder.join(path);
        match entry {
            Entry::File(bytes) => assert_eq!(&fs::read(path).unwrap(), bytes),
            Entry::Symlink(target) => assert_eq!(fs::read_link(path).unwrap(), Path::new(target)),
            Entry::Submodule(_) => assert!(!path.exists()),
        }
    }
}
