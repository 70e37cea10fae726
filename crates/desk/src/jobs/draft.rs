use std::time::Duration;

use copydesk_domain::{ChangeRange, Invalid, Project, Prompt, git_ref};
use copydesk_store::NewJob;

/// What holds for the jobs of every project.
#[derive(Debug, Clone)]
pub struct JobRules {
    /// The models and engines that a job may name.
    pub models: Vec<String>,
    /// The one for a job that names none.
    pub default_model: String,
    /// Job creations and messages of a project in an hour, unless the project says otherwise; 0 is off.
    pub jobs_per_hour: u32,
    /// Jobs of a project at a time, unless the project says otherwise; 0 is off.
    pub running_per_project: u32,
    /// How long a job may run, unless its project says otherwise.
    pub job_time: Duration,
    /// US dollars that a prompt of a job may cost, where prices are known.
    pub job_cost: Option<f64>,
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
    /// The range of commits of a code source to bring the documentation up to.
    pub changes: Option<ChangeRange>,
}

impl Draft {
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
        if let Some(Err(all)) = self.changes.as_ref().map(ChangeRange::check) {
            wrong.extend(all);
        }
        let (Some(prompt), true) = (prompt, wrong.is_empty()) else { return Err(wrong) };
        Ok(NewJob {
            project_id: project.id.clone(),
            repository: project.repository.public_address().to_owned(),
            base_ref: base_ref.unwrap_or_else(|| project.base_ref.clone()),
            model: self.model.unwrap_or_else(|| rules.default_model.clone()),
            draft: self.draft,
            open_pull_request: self.open_pull_request,
            client_reference: self.client_reference,
            changes: self.changes,
            prompt,
        })
    }
}
