use crate::text::{one_line, plain, shorten};

/// How much of a job's id is in a branch name: 40 bits, enough for all jobs of a repository.
const SHORT_ID: usize = 10;
const LONGEST_SLUG: usize = 40;
const LONGEST_SUBJECT: usize = 72;
const LONGEST_LINE: usize = 72;
const LONGEST_BODY: usize = 4000;

/// The branch of a job: `copydesk/<id, short>-<slug>`. The id is shortened to its end: it begins with the time, which
/// jobs of one moment share.
pub fn branch_name(job_id: &str, title: &str) -> String {
    let id: Vec<char> = job_id.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let short: String = id.iter().skip(id.len().saturating_sub(SHORT_ID)).collect();
    let short = if short.is_empty() { "job".to_owned() } else { short };
    let mut slug = String::new();
    for word in title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let longer = slug.len() + word.len() + usize::from(!slug.is_empty());
        if longer > LONGEST_SLUG {
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { format!("copydesk/{short}-docs") } else { format!("copydesk/{short}-{slug}") }
}

/// A commit message: a subject of at most 72 characters, the summary wrapped, and the job's id as a trailer.
pub fn commit_message(title: &str, summary: &str, job_id: &str) -> String {
    let subject = shorten(&crate::text::title(title), LONGEST_SUBJECT);
    let id: String = job_id.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(64).collect();
    let body = wrapped(&plain(&shorten_body(summary)));
    let trailer = format!("Copydesk-Job: {id}\n");
    if body.is_empty() { format!("{subject}\n\n{trailer}") } else { format!("{subject}\n\n{body}\n\n{trailer}") }
}

fn shorten_body(text: &str) -> String {
    if text.chars().count() <= LONGEST_BODY {
        return text.to_owned();
    }
    format!("{}…", text.chars().take(LONGEST_BODY).collect::<String>().trim_end())
}

/// Lines of at most 72 characters, except for words that are longer. Line breaks stay.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split_whitespace() {
            let longer = current.chars().count() + 1 + word.chars().count();
            if longer > LONGEST_LINE && !current.is_empty() {
                lines.push(std::mem::take(&mut current));
            }
            if !current.is_empty() {
                current.push(' ');
            }
            current.push_str(word);
        }
        lines.push(current);
    }
    // One empty line between paragraphs is enough.
    lines.dedup_by(|line, above| line.is_empty() && above.is_empty());
    // Only our own trailer is one: nobody else signs, reviews or skips anything.
    for line in lines.iter_mut().filter(|line| is_trailer(line)) {
        line.insert_str(0, "> ");
    }
    lines.join("\n").trim_matches('\n').to_owned()
}

fn is_trailer(line: &str) -> bool {
    let Some((key, _)) = line.split_once(':') else {
        return false;
    };
    let key = one_line(key).to_ascii_lowercase();
    key.ends_with("-by")
        || key.starts_with("skip-")
        || key.starts_with("copydesk-")
        || ["change-id", "release-as"].contains(&key.as_str())
}
