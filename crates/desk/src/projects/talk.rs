//! How a project and the people at its code host work together, as somebody wants it.

use copydesk_domain::{Comments, HostSettings, Invalid};

/// The most labels and the most reviewers.
const MOST: usize = 20;
/// The most characters that a label or a name has.
const LONGEST: usize = 100;

/// What is none, or an empty list, was not given and stays as it is.
#[derive(Debug, Default)]
pub struct TalkDraft {
    pub comments: Option<Comments>,
    /// A name, or `default`.
    pub mention: Option<String>,
    /// A label, or `none`.
    pub job_label: Option<String>,
    /// Labels; the one word `none` for no label. So are reviewers.
    pub labels: Vec<String>,
    pub reviewers: Vec<String>,
}

impl TalkDraft {
    pub(super) fn check(self, host: &mut HostSettings) -> Result<(), Invalid> {
        host.comments = self.comments.unwrap_or(host.comments);
        match self.mention.as_deref() {
            None => {}
            Some("default") => host.mention = None,
            Some(name) => host.mention = Some(mention(name)?),
        }
        match self.job_label.as_deref() {
            None => {}
            Some("none") => host.job_label = None,
            Some(text) => host.job_label = Some(word("job_label", text)?),
        }
        list("label", &self.labels, &mut host.labels)?;
        list("reviewer", &self.reviewers, &mut host.reviewers)
    }
}

fn mention(text: &str) -> Result<String, Invalid> {
    let name = text.trim().trim_start_matches('@');
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(fits);
    if is_name && name.len() <= LONGEST {
        return Ok(name.to_owned());
    }
    Err(Invalid::new("mention", "must be a name such as `docs-bot`, of letters, digits, `-`, `_` and `.`"))
}

fn word(field: &'static str, text: &str) -> Result<String, Invalid> {
    let text = text.trim();
    let is_short = (1..=LONGEST).contains(&text.chars().count());
    // GitLab takes lists of labels with commas between them.
    if is_short && !text.chars().any(|c| c.is_control() || c == ',') {
        return Ok(text.to_owned());
    }
    Err(Invalid::new(field, format!("must have 1 to {LONGEST} characters, no comma and no control characters")))
}

fn list(field: &'static str, given: &[String], now: &mut Vec<String>) -> Result<(), Invalid> {
    match given {
        [] => {}
        [none] if none == "none" => now.clear(),
        given if given.len() > MOST => {
            return Err(Invalid::new(field, format!("may be given {MOST} times at the most")));
        }
        given => {
            let words = given.iter().map(|text| word(field, text)).collect::<Result<Vec<_>, _>>()?;
            now.clear();
            for word in words {
                if !now.contains(&word) {
                    now.push(word);
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_replaces_what_was_and_the_rest_stays() {
        let own = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        let mut host =
            HostSettings { job_label: Some("docs".to_owned()), reviewers: own(&["ada"]), ..Default::default() };
        let draft = TalkDraft {
            comments: Some(Comments::All),
            mention: Some("@docs-bot".to_owned()),
            labels: own(&["docs", " by copydesk ", "docs"]),
            ..TalkDraft::default()
        };
        draft.check(&mut host).unwrap();
        assert_eq!((host.mention(), host.comments), ("docs-bot", Comments::All));
        assert_eq!((host.labels.clone(), host.reviewers.clone()), (own(&["docs", "by copydesk"]), own(&["ada"])));
        assert_eq!(host.job_label.as_deref(), Some("docs"));
        let none = || own(&["none"]);
        let draft = TalkDraft {
            mention: Some("default".to_owned()),
            job_label: Some("none".to_owned()),
            labels: none(),
            reviewers: none(),
            ..TalkDraft::default()
        };
        draft.check(&mut host).unwrap();
        assert_eq!(host, HostSettings { comments: Comments::All, ..HostSettings::default() });
    }

    #[test]
    fn what_no_host_would_take_is_refused() {
        let text = |text: &str| Some(text.to_owned());
        for (field, draft) in [
            ("mention", TalkDraft { mention: text("a b"), ..TalkDraft::default() }),
            ("mention", TalkDraft { mention: text("@"), ..TalkDraft::default() }),
            ("job_label", TalkDraft { job_label: text(" "), ..TalkDraft::default() }),
            ("label", TalkDraft { labels: vec!["a,b".to_owned()], ..TalkDraft::default() }),
            ("reviewer", TalkDraft { reviewers: vec!["x".repeat(101)], ..TalkDraft::default() }),
            ("reviewer", TalkDraft { reviewers: vec!["x".to_owned(); MOST + 1], ..TalkDraft::default() }),
        ] {
            assert_eq!(draft.check(&mut HostSettings::default()).unwrap_err().field, field);
        }
    }
}
