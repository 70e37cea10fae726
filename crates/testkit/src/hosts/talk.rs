//! What people say in a repository: comments, reviews, issues and their labels.

use copydesk_domain::Timestamp;

/// A comment as a test looks at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    pub id: u64,
    /// The login of who wrote it.
    pub by: String,
    pub body: String,
    /// The file it is about, if it is about a line.
    pub file: Option<String>,
    pub line: Option<u64>,
}

/// Where something is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Pull(u64),
    Issue(u64),
}

impl Place {
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Pull(number) | Self::Issue(number) => number,
        }
    }
}

/// A comment as a host keeps it.
#[derive(Debug, Clone)]
pub(super) struct Remark {
    pub(super) comment: Comment,
    pub(super) place: Place,
    /// The review that it belongs to.
    pub(super) review: Option<u64>,
    /// The piece of the difference that it stands at, and how far down.
    pub(super) hunk: Option<Hunk>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    /// Only Bitbucket still shows it then.
    pub(super) deleted: bool,
}

impl Remark {
    /// Whether it stands in the conversation and not at a line.
    pub(super) fn is_plain(&self) -> bool {
        self.comment.file.is_none()
    }
}

/// A piece of a difference, up to the line that somebody speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) text: String,
    /// How many lines it is below the first head of the file.
    pub(super) position: u64,
}

impl Hunk {
    /// The hunk that leads to a line of the new file; none if the difference does not show that line.
    pub(super) fn find(difference: &str, line: u64) -> Option<Self> {
        let start = difference.lines().position(|text| text.starts_with("@@ "))?;
        let (mut hunk, mut at): (Vec<&str>, u64) = (Vec::new(), 0);
        for (position, text) in difference.lines().skip(start).enumerate() {
            if text.starts_with("@@ ") {
                let new = text.split(" +").nth(1)?.split([',', ' ']).next()?;
                (hunk, at) = (vec![text], new.parse().ok()?);
                continue;
            }
            hunk.push(text);
            if text.starts_with(['-', '\\']) {
                continue;
            }
            if at == line {
                return Some(Self { text: hunk.join("\n"), position: position as u64 });
            }
            at += 1;
        }
        None
    }
}

/// A review that was submitted, or only asked for.
#[derive(Debug, Clone)]
pub(super) struct Review {
    pub(super) id: u64,
    pub(super) pull: u64,
    pub(super) by: String,
    pub(super) body: String,
    /// Whether nobody has reviewed yet: Forgejo lists what was asked for among the reviews.
    pub(super) requested: bool,
    /// The commit that was looked at.
    pub(super) commit: Option<String>,
    pub(super) created_at: Timestamp,
}

#[derive(Debug, Clone)]
pub(super) struct Issue {
    pub(super) number: u64,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) author: String,
    pub(super) labels: Vec<String>,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Timestamp,
    pub(super) closed_at: Option<Timestamp>,
}

/// A label that a repository has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Label {
    pub(super) id: u64,
    pub(super) name: String,
}

/// All that was said in a repository.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) remarks: Vec<Remark>,
    pub(super) reviews: Vec<Review>,
    pub(super) issues: Vec<Issue>,
    pub(super) labels: Vec<Label>,
}

impl Talk {
    pub(super) fn issue(&self, number: u64) -> Option<&Issue> {
        self.issues.iter().find(|issue| issue.number == number)
    }

    /// An issue, to change it.
    pub(super) fn issue_mut(&mut self, number: u64) -> Option<&mut Issue> {
        self.issues.iter_mut().find(|issue| issue.number == number)
    }

    pub(super) fn remark(&self, id: u64) -> Option<&Remark> {
        self.remarks.iter().find(|remark| remark.comment.id == id)
    }

    /// What was said in a place, the oldest first, with what Bitbucket still shows of deleted ones.
    pub(super) fn said(&self, place: Place) -> Vec<&Remark> {
        self.remarks.iter().filter(|remark| remark.place == place).collect()
    }

    pub(super) fn review(&self, pull: u64, id: u64) -> Option<&Review> {
        self.reviews.iter().find(|review| review.id == id && review.pull == pull)
    }

    /// A label by its name, whatever the case.
    pub(super) fn label(&self, name: &str) -> Option<&Label> {
        self.labels.iter().find(|label| label.name.eq_ignore_ascii_case(name))
    }
}

#[cfg(test)]
mod tests {
    use super::Hunk;

    #[test]
    fn a_hunk_ends_at_its_line() {
        let difference =
            "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n one\n-two\n+zwei\n+drei\n@@ -9 +10 @@ x\n+ten\n";
        let hunk = Hunk::find(difference, 2).unwrap();
        assert_eq!((hunk.text.as_str(), hunk.position), ("@@ -1,2 +1,3 @@\n one\n-two\n+zwei", 3));
        assert_eq!(Hunk::find(difference, 10).unwrap().position, 6);
        assert_eq!(Hunk::find(difference, 7), None);
        assert_eq!(Hunk::find("", 1), None);
    }
}
