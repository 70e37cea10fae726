use std::time::Duration;

use copydesk_domain::{ChangeRange, Dollars, Invalid, Project, Prompt, git_ref};
use copydesk_store::NewJob;

/// What holds for the jobs of every project.
#[derive(Debug, Clone)]
pub struct JobRules {
    /// The models and engines that a job may name.
    pub models: Vec<String>,
    /// The one for a job that names none.
    pub default_model: String,
    /// Those of the models of which this server knows what they cost, be it nothing.
    pub priced_models: Vec<String>,
    /// Job creations and messages of a project in an hour, unless the project says otherwise; 0 is off.
    pub jobs_per_hour: u32,
    /// Jobs of a project at a time, unless the project says otherwise; 0 is off.
    pub running_per_project: u32,
    /// How long a job may run, unless its project says otherwise.
    pub job_time: Duration,
    /// How long a job waits for a worker that runs its model.
    pub queue_time: Duration,
    /// US dollars that a prompt of a job may cost, where prices are known. A project and a job can only lower it.
    pub job_cost: Option<Dollars>,
}

/// A job as somebody asks for it. What is left out is as the project or the installation has it.
#[derive(Debug, Clone)]
pub struct Draft {
    pub prompt: String,
    pub base_ref: Option<String>,
    pub model: Option<String>,
    /// Whether to open the pull request as a draft.
    pub draft: bool,
    pub open_pull_request: bool,
    pub client_reference: Option<String>,
    /// US dollars that each prompt may cost.
    pub max_cost: Option<f64>,
    /// The range of commits of a code source to bring the documentation up to.
    pub changes: Option<ChangeRange>,
}

impl Draft {
    /// A job of which nothing is said but what to do.
    pub fn of(prompt: &str) -> Self {
        Self {
            prompt: prompt.to_owned(),
            base_ref: None,
            model: None,
            draft: false,
            open_pull_request: true,
            client_reference: None,
            max_cost: None,
            changes: None,
        }
    }

    /// The job to create, or all that is wrong, by the names that fields have in the interface.
    pub fn check(self, project: &Project, rules: &JobRules) -> Result<NewJob, Vec<Invalid>> {
        let mut wrong = Vec::new();
        let prompt = Prompt::parse(&self.prompt);
        let prompt = prompt.map_err(|error| wrong.push(Invalid::new("prompt", error.to_string()))).ok();
        let base_ref = self.base_ref.as_deref().map(|text| git_ref("baseRef", text)).transpose();
        let base_ref = base_ref.map_err(|invalid| wrong.push(invalid)).ok().flatten();
        if let Some(model) = self.model.as_ref().filter(|model| !rules.models.contains(model)) {
            let allowed = rules.models.join(", ");
            let given: String = model.chars().take(100).collect();
            wrong.push(Invalid::new("model", format!("{given:?} is not one that this server runs; it runs {allowed}")));
        }
        if let Some(reference) = &self.client_reference
            && (!(1..=255).contains(&reference.chars().count()) || reference.chars().any(char::is_control))
        {
            wrong.push(Invalid::new("clientReference", "must have 1 to 255 characters and no control characters"));
        }
        let max_cost = self.max_cost.map(|amount| Dollars::limit("maxCost", amount)).transpose();
        let max_cost = max_cost.map_err(|invalid| wrong.push(invalid)).ok().flatten();
        let model = self.model.unwrap_or_else(|| rules.default_model.clone());
        if max_cost.is_some() && rules.models.contains(&model) && !rules.knows_price(&model) {
            // A limit that nobody can hold to must not look like one.
            let why = format!(
                "cannot be enforced: this server does not know the price of {model}; leave it out, or have \
                 `model.input_price` and `model.output_price` set in the server's configuration"
            );
            wrong.push(Invalid::new("maxCost", why));
        }
        if let Some(Err(all)) = self.changes.as_ref().map(ChangeRange::check) {
            wrong.extend(all);
        }
        if self.changes.is_some() && model == "builtin" && rules.models.contains(&model) {
            let models: Vec<&str> =
                rules.models.iter().map(String::as_str).filter(|it| !matches!(*it, "builtin" | "noop")).collect();
            let instead = if models.is_empty() {
                "set up a model in the server's configuration".to_owned()
            } else {
                format!("choose a model: {}", models.join(", "))
            };
            let why = format!("cannot be read by `builtin`, which is not a language model; {instead}");
            wrong.push(Invalid::new("changes", why));
        }
        let (Some(prompt), true) = (prompt, wrong.is_empty()) else { return Err(wrong) };
        Ok(NewJob {
            project_id: project.id.clone(),
            repository: project.repository.public_address().to_owned(),
            base_ref: base_ref.unwrap_or_else(|| project.base_ref.clone()),
            model,
            draft: self.draft,
            open_pull_request: self.open_pull_request,
            client_reference: self.client_reference,
            max_cost,
            changes: self.changes,
            prompt,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::path::Path;

    use copydesk_domain::{HostSettings, OnFindings, Repository, Timestamp, ViewSettings, WritePaths};

    use super::*;

    pub(in crate::jobs) fn rules() -> JobRules {
        JobRules {
            models: ["builtin", "priced", "unpriced"].map(str::to_owned).to_vec(),
            default_model: "unpriced".to_owned(),
            priced_models: ["builtin", "priced"].map(str::to_owned).to_vec(),
            jobs_per_hour: 0,
            running_per_project: 0,
            job_time: Duration::from_secs(1),
            queue_time: Duration::from_secs(1),
            job_cost: None,
        }
    }

    pub(in crate::jobs) fn project() -> Project {
        Project {
            id: "docs".into(),
            name: "Docs".to_owned(),
            repository: Repository::parse("https://example.com/docs", Path::new("/")).unwrap(),
            base_ref: "main".to_owned(),
            docs_paths: vec!["docs".to_owned()],
            write_paths: WritePaths::default(),
            time_zone: "UTC".to_owned(),
            jobs_per_hour: None,
            max_running: None,
            time_limit_seconds: None,
            job_cost: None,
            on_findings: OnFindings::default(),
            views: ViewSettings::default(),
            host: HostSettings::default(),
            created_at: Timestamp::from_millis(0),
            updated_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn a_limit_needs_a_price_to_hold() {
        let asked = |model: Option<&str>, max_cost| {
            let draft = Draft {
                prompt: "x".to_owned(),
                base_ref: None,
                model: model.map(str::to_owned),
                draft: false,
                open_pull_request: true,
                client_reference: None,
                max_cost: Some(max_cost),
                changes: None,
            };
            draft.check(&project(), &rules()).map(|new| new.max_cost.unwrap().amount())
        };
        let fields =
            |wrong: Result<f64, Vec<Invalid>>| wrong.unwrap_err().iter().map(|it| it.field).collect::<Vec<_>>();
        assert_eq!(asked(Some("priced"), 0.25), Ok(0.25));
        assert_eq!(asked(Some("builtin"), 0.25), Ok(0.25), "it costs nothing");
        assert_eq!(fields(asked(Some("priced"), 0.0)), ["maxCost"]);
        assert_eq!(fields(asked(None, 0.25)), ["maxCost"], "the default model is another");
        assert_eq!(fields(asked(Some("nobody"), 0.25)), ["model"]);
        let why = asked(Some("unpriced"), 0.25).unwrap_err().remove(0).message;
        assert!(why.contains("the price of unpriced") && why.contains("`model.input_price`"), "{why}");
    }
}
