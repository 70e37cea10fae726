//! What a prompt may cost: of a project, of a job, and where it does not hold.

use serde_json::json;

use crate::support::Desk;

const UNPRICED: [(&str, &str); 2] = [("COPYDESK_MODEL__PROVIDER", "ollama"), ("COPYDESK_MODEL__NAME", "small")];
const PRICED: [(&str, &str); 4] =
    [UNPRICED[0], UNPRICED[1], ("COPYDESK_MODEL__INPUT_PRICE", "1"), ("COPYDESK_MODEL__OUTPUT_PRICE", "2.5")];

#[test]
fn a_project_has_a_budget_that_holds_where_the_price_is_known() {
    let desk = Desk::new();
    let repo = copydesk_testkit::GitRepo::new([("docs/index.md", "# Docs\n")]);
    let path = repo.path().to_str().unwrap();
    let create = ["project", "create", "--name", "Docs", "--repository", path, "--job-cost", "0.50"];
    let made = desk.run_with(&create, &UNPRICED).ok();
    assert!(made.err.contains("warning: The limit of 0.50 US dollars a prompt does not hold"), "{}", made.err);
    assert!(made.out.contains("cost of a prompt 0.50 US dollars\n"), "{}", made.out);

    let show = ["project", "show", "docs"];
    let test = ["project", "test", "docs"];
    let shown = desk.run_with(&show, &UNPRICED).ok().out;
    assert!(shown.contains("\nnot in force     The limit of 0.50 US dollars") && shown.contains("small"), "{shown}");
    let tried = desk.run_with(&test, &UNPRICED).ok().out;
    assert!(tried.contains("?    a prompt is kept from costing more than 0.50 US dollars: "), "{tried}");
    let json = desk.run_with(&["project", "show", "docs", "--json"], &UNPRICED).json();
    assert_eq!((&json["jobCost"], json["notInForce"].as_array().unwrap().len()), (&json!(0.5), 1));

    for environment in [&PRICED[..], &[]] {
        let shown = desk.run_with(&show, environment).ok().out;
        assert!(shown.contains("cost of a prompt 0.50") && !shown.contains("not in force"), "{shown}");
        let tried = desk.run_with(&test, environment).ok().out;
        assert!(tried.contains("yes  a prompt is kept from costing more than 0.50 US dollars\n"), "{tried}");
    }
    let back = desk.run_with(&["project", "update", "docs", "--job-cost", "default"], &UNPRICED).ok();
    assert!(back.out.contains("cost of a prompt default") && back.err.is_empty(), "{}{}", back.out, back.err);
    for wrong in ["0", "-1", "1,5", "much", "1000001"] {
        let refused = desk.run(&["project", "update", "docs", &format!("--job-cost={wrong}")]);
        assert_eq!(refused.code, 2);
        assert!(refused.err.contains("--job-cost must be"), "{}", refused.err);
    }
}

#[test]
fn a_server_elsewhere_says_whether_a_budget_holds() {
    let desk = Desk::new();
    let admin = desk.run(&["key", "create", "--all-projects", "--scope", "admin", "--json"]).json();
    let (project, _) = desk.project_and_key("Docs");
    let server = desk.serve(&UNPRICED);
    let away = Desk::new();
    let run = |arguments: &[&str]| {
        let key = [("COPYDESK_API_KEY", admin["key"].as_str().unwrap())];
        away.run_with(&[&["--url", &server.url], arguments].concat(), &key)
    };
    let changed = run(&["project", "update", &project, "--job-cost", "0.25"]).ok();
    assert!(changed.err.contains("warning: The limit of 0.25 US dollars"), "{}", changed.err);
    let shown = run(&["project", "show", &project]).ok().out;
    assert_eq!(shown, desk.run_with(&["project", "show", &project], &UNPRICED).ok().out);
    assert!(shown.contains("not in force"), "{shown}");
}

#[test]
fn a_job_has_a_budget_where_the_price_is_known() {
    let desk = Desk::new();
    let (project, key) = desk.project_and_key("Docs");
    // Nobody here knows what `later` costs.
    let server = desk.serve(&[("COPYDESK_JOBS__MODELS", "builtin,noop,later")]);
    let environment = [("COPYDESK_URL", &*server.url), ("COPYDESK_PROJECT", &*project), ("COPYDESK_API_KEY", &*key)];
    let create = |model: &str, flag: &str| {
        desk.run_with(&["job", "create", "Fix it", "--json", "--model", model, flag], &environment)
    };
    assert_eq!(create("noop", "--max-cost=0.25").json()["maxCost"], 0.25);
    let refused = create("later", "--max-cost=0.25");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("maxCost") && refused.err.contains("the price of later"), "{}", refused.err);
    for wrong in ["--max-cost=0", "--max-cost=-1", "--max-cost=much"] {
        let refused = create("noop", wrong);
        assert_eq!(refused.code, 2, "{}", refused.err);
        assert!(refused.err.contains("--max-cost must be"), "{}", refused.err);
    }
}
