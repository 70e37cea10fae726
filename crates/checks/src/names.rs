//! Names of files that are something else than documentation, whatever their format. All are compared folded, because
//! some file systems do not tell the difference.

use crate::paths;

/// What prose is written in.
const PROSE: [&str; 7] = ["md", "mdx", "markdown", "mkd", "rst", "adoc", "asciidoc"];

/// What the data beside it is written in.
const DATA: [&str; 8] = ["txt", "json", "yaml", "yml", "toml", "csv", "tsv", "ipynb"];

/// What tools read their settings from: names count only with these.
const SETTINGS: [&str; 5] = ["txt", "json", "yaml", "yml", "toml"];

/// What people call instructions to coding agents, up to the first dot of a Markdown file's name.
const AGENT_FILES: [&str; 6] = ["agents", "claude", "gemini", "qwen", "copilot-instructions", "skill"];

/// The same, where the name in lower case is that of an ordinary page.
const AGENT_FILES_IN_CAPITALS: [&str; 4] = ["AGENT.md", "WARP.md", "CRUSH.md", "CONVENTIONS.md"];

/// Who owns and licenses the project.
const OWNERSHIP: [&str; 10] = [
    "codeowners",
    "license",
    "license.md",
    "license.txt",
    "licence.md",
    "licence.txt",
    "copying",
    "copying.txt",
    "notice",
    "notice.txt",
];

/// Files that build, run, deploy or lock something, by their name up to the first dot. None of them is documentation by
/// itself; this is what a project cannot open either.
const BUILD_FILES: [&str; 80] = [
    // Packages and their tools.
    "package",
    "package-lock",
    "npm-shrinkwrap",
    "pnpm-lock",
    "pnpm-workspace",
    "bunfig",
    "deno",
    "import_map",
    "lerna",
    "nx",
    "project",
    "moon",
    "dvc",
    "turbo",
    "rush",
    "angular",
    "babel",
    "biome",
    "eslint",
    "nodemon",
    "composer",
    "cargo",
    "rust-toolchain",
    "clippy",
    "rustfmt",
    "pyproject",
    "poetry",
    "uv",
    "pdm",
    "pixi",
    "hatch",
    "constraints",
    "conanfile",
    "vcpkg",
    "cmakelists",
    "cmakepresets",
    "gemfile",
    "pipfile",
    "mise",
    "devbox",
    "devcontainer",
    "taskfile",
    "lefthook",
    // Continuous integration.
    "appveyor",
    "travis",
    "woodpecker",
    "buildkite",
    "gitlab-ci",
    "codecov",
    "dependabot",
    "renovate",
    "mergify",
    "goreleaser",
    // Deployment.
    "compose",
    "kustomization",
    "helmfile",
    "skaffold",
    "serverless",
    "samconfig",
    "cdk",
    "amplify",
    "appspec",
    "firebase",
    "netlify",
    "vercel",
    "wrangler",
    "procfile",
    // Generators of documentation, which can be told to run commands.
    "hugo",
    "_config",
    "antora",
    "antora-playbook",
    "typedoc",
    "jsdoc",
    "docfx",
    "nuxt",
    "gatsby-config",
    // Tools that agents may call.
    "mcp",
    "opencode",
    "gemini-extension",
    "pre-commit-config",
];

/// The same, where the beginning of the name is common to many.
const BUILD_PREFIXES: [&str; 15] = [
    "_quarto",
    "azure-pipelines",
    "docker-compose",
    "compose-",
    "dockerfile",
    "containerfile",
    "makefile",
    "jenkinsfile",
    "tsconfig",
    "jsconfig",
    "requirements",
    "cloudbuild",
    "buildspec",
    "appsettings",
    "conda",
];

/// The same, where the end of the name is, before its last dot.
const BUILD_SUFFIXES: [&str; 5] = ["pipelines", "-pipeline", "requirements", "gitlab-ci", "docker-compose"];

/// The same, where the name with another extension is that of ordinary data; `.yml` is taken for `.yaml`.
const WHOLE_NAMES: [&str; 17] = [
    "action.yaml",
    "app.json",
    "app.yaml",
    "book.json",
    "book.toml",
    "chart.yaml",
    "circle.yaml",
    "config.toml",
    "drone.yaml",
    "environment.yaml",
    "fly.toml",
    "global.json",
    "now.json",
    "pipeline.yaml",
    "railway.toml",
    "render.yaml",
    "values.yaml",
];

/// Folders whose content is made by a program.
const GENERATED_FOLDERS: [&str; 8] =
    ["node_modules", "vendor", "third_party", "__pycache__", "bower_components", "dist", "build", "target"];

/// Folders that hold documentation wherever they are.
const DOCS_FOLDERS: [&str; 3] = ["docs", "doc", "documentation"];

/// Texts beside documentation that people and readers of the site read, by their name without `.txt`.
const TEXTS: [&str; 13] = [
    "readme",
    "changelog",
    "authors",
    "history",
    "faq",
    "todo",
    "news",
    "changes",
    "llms",
    "llms-full",
    "llms-small",
    "humans",
    "robots",
];

/// What says how documentation is to be written.
const GUIDES: [&str; 3] = ["agents.md", "contributing.md", ".vale.ini"];
const STYLES: [&str; 5] = ["style-guide", "style_guide", "styleguide", "writing-style", "writing-guide"];

/// A name as it is compared: in lower case, with letters that are only another form of one made that one.
pub(crate) fn folded(name: &str) -> String {
    name.to_uppercase().to_lowercase()
}

/// Whether a file is written in prose, by its extension.
pub(crate) fn is_prose(path: &str) -> bool {
    PROSE.contains(&paths::extension(path).as_str())
}

/// Whether a file holds data that may belong to documentation, by its extension.
pub(crate) fn is_data(path: &str) -> bool {
    DATA.contains(&paths::extension(path).as_str())
}

/// Whether a file is documentation by its name: a known text without an ending, or with that of plain text.
pub(crate) fn is_readme(path: &str) -> bool {
    let stem = match paths::extension(path).as_str() {
        "" => paths::file_name(path),
        "txt" => paths::stem(path),
        _ => return false,
    };
    TEXTS.contains(&folded(stem).as_str())
}

/// Whether a file, by its name, says how documentation is to be written: jobs are shown it.
pub fn is_guide(name: &str) -> bool {
    let lower = folded(name);
    let is_text = [".md", ".mdx", ".txt", ".rst"].iter().any(|end| lower.ends_with(end));
    let is_style = lower.starts_with("style.") || STYLES.iter().any(|style| lower.contains(style));
    GUIDES.contains(&lower.as_str()) || is_text && is_style
}

/// Whether a folder is the top of a repository, or one that is called like documentation.
pub(crate) fn is_docs_folder(folder: &str) -> bool {
    folder.is_empty() || DOCS_FOLDERS.contains(&folded(paths::file_name(folder)).as_str())
}

/// Whether a file says who owns the project, or on which terms it may be used.
pub(crate) fn is_ownership(path: &str) -> bool {
    OWNERSHIP.contains(&folded(paths::file_name(path)).as_str())
}

/// Whether a file tells coding agents what to do.
pub(crate) fn is_agent_file(path: &str) -> bool {
    let name = folded(paths::file_name(path));
    let head = name.split('.').next().unwrap_or_default();
    AGENT_FILES.contains(&head) && name.ends_with(".md")
        || AGENT_FILES_IN_CAPITALS.contains(&paths::file_name(path))
        || name.ends_with(".instructions.md")
        || name.ends_with(".prompt.md")
}

/// Whether a file builds, runs, deploys, owns or locks something, whatever folder it is in.
pub(crate) fn is_build_file(path: &str) -> bool {
    let path = folded(path);
    let name = paths::file_name(&path);
    if OWNERSHIP.contains(&name) || name.ends_with(".lock") {
        return true;
    }
    let extension = paths::extension(name);
    let head = name.split('.').next().unwrap_or_default();
    let stem = paths::stem(name);
    let whole = if extension == "yml" { format!("{stem}.yaml") } else { name.to_owned() };
    let is_setting = extension.is_empty() || SETTINGS.contains(&extension.as_str());
    let is_requirement = extension == "txt" && paths::folder(&path).split('/').any(|part| part == "requirements");
    is_setting
        && (BUILD_FILES.contains(&head)
            || WHOLE_NAMES.contains(&whole.as_str())
            || BUILD_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
            || BUILD_SUFFIXES.iter().any(|suffix| stem.ends_with(suffix))
            || is_requirement)
}

/// Whether a path leads through a folder of generated files.
pub(crate) fn is_generated(path: &str) -> bool {
    folded(path).split('/').any(|part| GENERATED_FOLDERS.contains(&part))
}

/// Whether a file is of a kind that may be written somewhere, by its name.
pub(crate) fn is_documentation(path: &str) -> bool {
    is_prose(path) || is_data(path) || is_readme(path)
}
