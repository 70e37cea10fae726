use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use super::files::{Entry, Files, SEAM, read_folder};
use super::{Expect, JobSettings, ModelLimits, ProjectSettings, Scenario};
use crate::model::{Api, Script};

/// What may lie in the folder of a scenario beside further prompts.
const PARTS: [&str; 6] = ["scenario.toml", "model.toml", "prompt.md", "before", "after", "sources"];

/// The longest file that is made up.
const LARGEST_GENERATED: usize = 16 * 1024 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    about: String,
    #[serde(default = "both")]
    providers: Vec<Provider>,
    #[serde(default)]
    project: ProjectSettings,
    #[serde(default)]
    job: JobSettings,
    #[serde(default)]
    model: ModelLimits,
    expect: Expect,
    #[serde(default)]
    earlier: Vec<Expect>,
    /// Files that would mean something to tools if they lay in the folder.
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    symlinks: BTreeMap<String, String>,
    #[serde(default)]
    submodules: BTreeMap<String, String>,
    #[serde(default)]
    generate: BTreeMap<String, Generated>,
    #[serde(default)]
    after: AfterText,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "snake_case")]
enum Provider {
    Openai,
    Anthropic,
}

fn both() -> Vec<Provider> {
    vec![Provider::Openai, Provider::Anthropic]
}

/// A file that is too large to be stored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Generated {
    #[serde(default)]
    head: String,
    /// Repeated with `{n}` replaced by 1, 2, 3, … while the file stays below `bytes`.
    line: String,
    bytes: usize,
    #[serde(default)]
    tail: String,
}

/// What is different afterwards beside the files in `after/`.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct AfterText {
    deleted: Vec<String>,
    edit: Vec<EditText>,
}

/// A replacement in a file that is not stored.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EditText {
    path: String,
    old: String,
    new: String,
}

impl Scenario {
    /// Reads the scenario in a folder; says what is wrong with it if it cannot.
    pub fn load(folder: &Path) -> Result<Self, String> {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let problem = |problem: String| format!("scenario {name}: {problem}");
        read(folder, &name).map_err(problem)
    }
}

fn read(folder: &Path, name: &str) -> Result<Scenario, String> {
    if name.is_empty() || name.contains(['#', ']']) {
        return Err("its name cannot stand in a prompt".to_owned());
    }
    let prompts = read_prompts(folder)?;
    let text: Text =
        toml::from_str(&read_text(folder, "scenario.toml")?).map_err(|error| format!("scenario.toml: {error}"))?;
    let script = Script::parse(&read_text(folder, "model.toml")?).map_err(|error| format!("model.toml: {error}"))?;
    let before = before(folder, &text)?;
    let after = after(folder, &text.after, &before)?;
    let sources = sources(&folder.join("sources"))?;
    check_expectations(&text, prompts.len(), after.is_some())?;
    let api = |provider: &Provider| match provider {
        Provider::Openai => Api::OpenAi,
        Provider::Anthropic => Api::Anthropic,
    };
    Ok(Scenario {
        name: name.to_owned(),
        about: text.about,
        apis: text.providers.iter().map(api).collect(),
        before,
        after,
        sources,
        prompts,
        script,
        project: text.project,
        job: text.job,
        model: text.model,
        expect: text.expect,
        earlier: text.earlier,
    })
}

fn read_text(folder: &Path, name: &str) -> Result<String, String> {
    let text = fs::read_to_string(folder.join(name)).map_err(|error| format!("{name}: {error}"))?;
    Ok(text.replace(SEAM, ""))
}

/// `prompt.md`, then `prompt-2.md` and so on. Whatever else lies in the folder and is not known is an error.
fn read_prompts(folder: &Path) -> Result<Vec<String>, String> {
    let mut prompts = vec![read_text(folder, "prompt.md")?];
    while folder.join(format!("prompt-{}.md", prompts.len() + 1)).exists() {
        prompts.push(read_text(folder, &format!("prompt-{}.md", prompts.len() + 1))?);
    }
    for prompt in &mut prompts {
        prompt.truncate(prompt.trim_end().len());
        if prompt.is_empty() {
            return Err("a prompt is empty".to_owned());
        }
    }
    let numbered: Vec<String> = (2..=prompts.len()).map(|number| format!("prompt-{number}.md")).collect();
    for entry in fs::read_dir(folder).map_err(|error| error.to_string())? {
        let name = entry.map_err(|error| error.to_string())?.file_name();
        if !PARTS.iter().any(|part| name == *part) && !numbered.iter().any(|part| name == **part) {
            return Err(format!("{} is no part of a scenario", name.display()));
        }
    }
    Ok(prompts)
}

/// The repository at the base commit.
fn before(folder: &Path, text: &Text) -> Result<Files, String> {
    let mut files = read_folder(&folder.join("before"))?.unwrap_or_default();
    let written = text.files.iter().map(|(path, text)| (path, Entry::File(text.clone().into_bytes())));
    let links = text.symlinks.iter().map(|(path, target)| (path, Entry::Symlink(target.clone())));
    let modules = text.submodules.iter().map(|(path, commit)| (path, Entry::Submodule(commit.clone())));
    let made = text.generate.iter().map(|(path, file)| Ok((path, Entry::File(file.bytes()?))));
    let made = made.collect::<Result<Vec<_>, String>>()?;
    for (path, entry) in written.chain(links).chain(modules).chain(made) {
        if files.insert(path.clone(), entry).is_some() {
            return Err(format!("{path} is there twice"));
        }
    }
    if files.is_empty() {
        return Err("the repository is empty".to_owned());
    }
    Ok(files)
}

/// The code sources: a folder each, and in it a folder for each commit, by the order of their names, which become tags.
fn sources(folder: &Path) -> Result<BTreeMap<String, Vec<(String, Files)>>, String> {
    let mut sources = BTreeMap::new();
    for source in names_in(folder)? {
        let mut commits = Vec::new();
        for tag in names_in(&folder.join(&source))? {
            let files = read_folder(&folder.join(&source).join(&tag))?.unwrap_or_default();
            commits.push((tag, files));
        }
        if commits.is_empty() || commits.iter().any(|(_, files)| files.is_empty()) {
            return Err(format!("sources/{source} has no commit, or one without files"));
        }
        sources.insert(source, commits);
    }
    Ok(sources)
}

/// The names of what is in a folder, sorted; none if it is not there.
fn names_in(folder: &Path) -> Result<Vec<String>, String> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(problem)? {
        names.push(entry.map_err(problem)?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}

/// The repository afterwards: `after/` holds the files that are new or different, and nothing else.
fn after(folder: &Path, text: &AfterText, before: &Files) -> Result<Option<Files>, String> {
    let changed = read_folder(&folder.join("after"))?;
    if changed.is_none() && text.deleted.is_empty() && text.edit.is_empty() {
        return Ok(None);
    }
    let mut files = before.clone();
    for (path, entry) in changed.unwrap_or_default() {
        if files.insert(path.clone(), entry.clone()) == Some(entry) {
            return Err(format!("after/{path} is the same as before"));
        }
    }
    for edit in &text.edit {
        let Some(Entry::File(bytes)) = files.get_mut(&edit.path) else {
            return Err(format!("after.edit: there is no file {}", edit.path));
        };
        let content = String::from_utf8(bytes.clone()).map_err(|_| format!("{} is no text", edit.path))?;
        if content.matches(&edit.old).count() != 1 {
            return Err(format!("after.edit: {:?} is not once in {}", edit.old, edit.path));
        }
        *bytes = content.replace(&edit.old, &edit.new).into_bytes();
    }
    for path in &text.deleted {
        if !before.contains_key(path) || files.get(path) != before.get(path) {
            return Err(format!("after.deleted: {path} was not there before, or is there afterwards"));
        }
        files.remove(path);
    }
    if files == *before {
        return Err("nothing is different afterwards; leave `after/` out".to_owned());
    }
    Ok(Some(files))
}

fn check_expectations(text: &Text, prompts: usize, has_branch: bool) -> Result<(), String> {
    const OUTCOMES: [(&str, &str); 8] = [
        ("pr_created", "completed"),
        ("no_changes", "completed"),
        ("changes_ready", "completed"),
        ("blocked", "failed"),
        ("checks_failed", "failed"),
        ("error", "failed"),
        ("timed_out", "failed"),
        ("cancelled", "failed"),
    ];
    if text.providers.is_empty() {
        return Err("there is no provider".to_owned());
    }
    if !text.earlier.is_empty() && text.earlier.len() + 1 != prompts {
        return Err(format!("there are {prompts} prompts, but {} entries in `earlier`", text.earlier.len()));
    }
    for expect in text.earlier.iter().chain([&text.expect]) {
        match OUTCOMES.iter().find(|(outcome, _)| *outcome == expect.outcome) {
            None => return Err(format!("there is no outcome {:?}", expect.outcome)),
            Some((_, status)) if *status != expect.status => {
                return Err(format!("a job with the outcome {} is {status}", expect.outcome));
            }
            Some(_) => {}
        }
        let about_pull = expect.draft || !expect.body_contains.is_empty() || !expect.body_lacks.is_empty();
        if about_pull && !expect.has_pull_request() {
            return Err("it says something about a pull request that is not there".to_owned());
        }
    }
    // A follow-up that changes nothing leaves the pull request as it was.
    let changes = |expect: &Expect| expect.has_pull_request() || expect.outcome == "changes_ready";
    if has_branch != text.earlier.iter().chain([&text.expect]).any(changes) {
        return Err("there must be an `after` exactly if there is a pull request, or changes for one".to_owned());
    }
    Ok(())
}

impl Generated {
    fn bytes(&self) -> Result<Vec<u8>, String> {
        if self.line.is_empty() || self.bytes > LARGEST_GENERATED {
            return Err("a generated file needs a line and has at most 16 MiB".to_owned());
        }
        let mut text = self.head.clone();
        for number in 1.. {
            let line = self.line.replace("{n}", &number.to_string());
            if text.len() + line.len() + self.tail.len() > self.bytes {
                break;
            }
            text.push_str(&line);
        }
        Ok((text + &self.tail).into_bytes())
    }
}
