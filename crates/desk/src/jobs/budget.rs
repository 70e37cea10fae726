//! What a prompt may cost, as far as this server can hold to it.

use copydesk_domain::{Budget, Budgets, Dollars, Project};

use super::JobRules;

impl JobRules {
    /// Whether this server knows what a model costs. Where it does not, no limit can hold.
    pub fn knows_price(&self, model: &str) -> bool {
        self.priced_models.iter().any(|priced| priced == model)
    }

    /// What holds for a prompt of a job of that model, where something does.
    pub fn budget(&self, project: &Project, model: &str, job: Option<Dollars>) -> Option<Budget> {
        let budgets = Budgets { server: self.job_cost, project: project.job_cost, job };
        budgets.smallest().filter(|_| self.knows_price(model))
    }

    /// Why the limit that a project has set for itself does not hold, if it does not, as one sentence.
    pub fn budget_not_in_force(&self, project: &Project) -> Option<String> {
        let most = project.job_cost?;
        let unpriced: Vec<&str> =
            self.models.iter().map(String::as_str).filter(|model| !self.knows_price(model)).collect();
        if unpriced.is_empty() {
            return None;
        }
        Some(format!(
            "The limit of {most} US dollars a prompt does not hold for jobs of {}: this server does not know the price. \
             Set `model.input_price` and `model.output_price` in its configuration.",
            unpriced.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use copydesk_domain::BudgetOf;

    use super::super::draft::tests::{project, rules};
    use super::*;

    #[test]
    fn a_limit_holds_where_the_price_is_known() {
        let limited = Project { job_cost: Some(Dollars::rounded(0.5)), ..project() };
        let rules = JobRules { job_cost: Some(Dollars::rounded(2.0)), ..rules() };
        let budget = |project: &Project, model: &str, job: Option<f64>| {
            let budget = rules.budget(project, model, job.map(Dollars::rounded))?;
            Some((budget.most.amount(), budget.of))
        };
        assert_eq!(budget(&project(), "priced", None), Some((2.0, BudgetOf::Server)));
        assert_eq!(budget(&limited, "priced", None), Some((0.5, BudgetOf::Project)));
        assert_eq!(budget(&limited, "priced", Some(0.25)), Some((0.25, BudgetOf::Job)));
        assert_eq!(budget(&limited, "priced", Some(9.0)), Some((0.5, BudgetOf::Project)));
        assert_eq!(budget(&limited, "unpriced", None), None);

        assert_eq!(rules.budget_not_in_force(&project()), None);
        let why = rules.budget_not_in_force(&limited).unwrap();
        assert!(why.contains("0.50 US dollars") && why.contains("jobs of unpriced:"), "{why}");
        let known = JobRules { models: vec!["priced".to_owned()], ..rules };
        assert_eq!(known.budget_not_in_force(&limited), None);
    }
}
