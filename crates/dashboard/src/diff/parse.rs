//! Reads a diff as git writes it.

/// One file of a diff.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FileDiff<'d> {
    pub(crate) old_path: String,
    pub(crate) new_path: String,
    pub(crate) kind: FileKind,
    /// What is said of it beside its lines, such as another mode.
    pub(crate) notes: Vec<String>,
    pub(crate) hunks: Vec<Hunk<'d>>,
    pub(crate) added: usize,
    pub(crate) removed: usize,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FileKind {
    Added,
    #[default]
    Changed,
    Deleted,
    Renamed,
}

/// Lines that stand together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Hunk<'d> {
    pub(crate) old_start: usize,
    pub(crate) new_start: usize,
    pub(crate) lines: Vec<(Sign, &'d str)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    Same,
    Gone,
    New,
}

impl FileDiff<'_> {
    /// How many lines are shown of it.
    pub(crate) fn lines(&self) -> usize {
        self.hunks.iter().map(|hunk| hunk.lines.len() + 1).sum()
    }

    /// Where it is now; of one that is gone, where it was.
    pub(crate) fn path(&self) -> &str {
        if self.kind == FileKind::Deleted { &self.old_path } else { &self.new_path }
    }
}

/// The files of a diff. Lines that make no sense are left out: they can only come from somewhere else.
pub(crate) fn parse(diff: &str) -> Vec<FileDiff<'_>> {
    let (mut files, lines) = (Vec::<FileDiff>::new(), diff.split('\n'));
    // How many lines of the old and the new side are still to come in the hunk.
    let mut left = (0_usize, 0_usize);
    for line in lines {
        if left != (0, 0) {
            if let Some(file) = files.last_mut() {
                take_line(file, &mut left, line);
            }
        } else if let Some(names) = line.strip_prefix("diff --git ") {
            let (old_path, new_path) = names_of(names);
            files.push(FileDiff { old_path, new_path, ..FileDiff::default() });
        } else if let Some(file) = files.last_mut() {
            left = take_header(file, line);
        }
    }
    files
}

fn take_line<'d>(file: &mut FileDiff<'d>, left: &mut (usize, usize), line: &'d str) {
    let Some(hunk) = file.hunks.last_mut() else { return };
    let sign = match line.as_bytes().first() {
        Some(b'+') => Sign::New,
        Some(b'-') => Sign::Gone,
        // It says that the last line has no end.
        Some(b'\\') => return,
        _ => Sign::Same,
    };
    if sign != Sign::New {
        left.0 = left.0.saturating_sub(1);
    }
    if sign != Sign::Gone {
        left.1 = left.1.saturating_sub(1);
    }
    file.added += usize::from(sign == Sign::New);
    file.removed += usize::from(sign == Sign::Gone);
    hunk.lines.push((sign, line.get(1..).unwrap_or_default()));
}

/// A line between the name of a file and its lines. Gives how many lines come after it.
fn take_header(file: &mut FileDiff<'_>, line: &str) -> (usize, usize) {
    if let Some(range) = line.strip_prefix("@@ ") {
        let mut parts = range.split(' ');
        let (old_start, old) = position(parts.next(), '-');
        let (new_start, new) = position(parts.next(), '+');
        file.hunks.push(Hunk { old_start, new_start, lines: Vec::with_capacity(old.max(new)) });
        return (old, new);
    }
    if let Some(path) = line.strip_prefix("rename from ") {
        file.old_path = unquoted(path);
        file.kind = FileKind::Renamed;
    } else if let Some(path) = line.strip_prefix("rename to ") {
        file.new_path = unquoted(path);
    } else if let Some(name) = line.strip_prefix("--- ") {
        set_name(&mut file.old_path, name, "a/");
    } else if let Some(name) = line.strip_prefix("+++ ") {
        set_name(&mut file.new_path, name, "b/");
    } else if line.starts_with("new file mode ") {
        file.kind = FileKind::Added;
    } else if line.starts_with("deleted file mode ") {
        file.kind = FileKind::Deleted;
    } else if let Some(mode) = line.strip_prefix("new mode ") {
        let is = if mode.ends_with("755") { "It is executable now." } else { "Its mode has changed." };
        file.notes.push(is.to_owned());
    } else if line.starts_with("Binary files ") {
        file.notes.push("It is not text, so there are no lines to show.".to_owned());
    }
    (0, 0)
}

/// `-12,3`: where it begins and how many lines there are.
fn position(part: Option<&str>, sign: char) -> (usize, usize) {
    let text = part.unwrap_or_default().trim_start_matches(sign);
    let (start, count) = text.split_once(',').unwrap_or((text, "1"));
    // More than there are in any diff would only reserve memory.
    (start.parse().unwrap_or(1), count.parse().map_or(0, |count: usize| count.min(1_000_000)))
}

fn set_name(path: &mut String, name: &str, prefix: &str) {
    let name = unquoted(name.trim_end_matches('\t'));
    if let Some(name) = name.strip_prefix(prefix) {
        *path = name.to_owned();
    }
}

/// `a/x b/x`, for files of which nothing else names the path.
fn names_of(names: &str) -> (String, String) {
    if let Some(half) = names.starts_with('"').then(|| names.find("\" \"")).flatten() {
        let strip = |name: String| name.get(2..).unwrap_or_default().to_owned();
        return (strip(unquoted(&names[..=half])), strip(unquoted(&names[half + 2..])));
    }
    // Both halves are the same, but for the letter, unless a rename tells more.
    let middle = names.len() / 2;
    let path = names.get(..middle).and_then(|half| half.strip_prefix("a/")).unwrap_or(names);
    (path.to_owned(), path.to_owned())
}

/// A path as it is, of one that git has put into quotes.
fn unquoted(name: &str) -> String {
    let Some(inner) = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) else { return name.to_owned() };
    let (mut out, mut bytes) = (Vec::with_capacity(inner.len()), inner.bytes());
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(first @ b'0'..=b'3') => {
                let mut digit = || bytes.next().unwrap_or(b'0').wrapping_sub(b'0') & 7;
                out.push(((first - b'0') << 6) | (digit() << 3) | digit());
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIFF: &str = "diff --git a/docs/a b.md b/docs/a b.md\nindex 1..2 100644\n--- a/docs/a b.md\t\n+++ b/docs/a b.md\t\n\
        @@ -1,3 +1,3 @@\n one\n--- two\n+++ two\n three\n\\ No newline at end of file\n\
        diff --git a/x b/y\nsimilarity index 100%\nrename from x\nrename to y\n\
        diff --git \"a/\\303\\244\\\"\" \"b/\\303\\244\\\"\"\nnew file mode 100644\n--- /dev/null\n+++ \"b/\\303\\244\\\"\"\n@@ -0,0 +1 @@\n+z\n\
        diff --git a/i.png b/i.png\nBinary files a/i.png and b/i.png differ\n";

    #[test]
    fn files_are_read_as_git_wrote_them() {
        let files = parse(DIFF);
        let paths: Vec<_> =
            files.iter().map(|file| (file.old_path.as_str(), file.new_path.as_str(), file.kind)).collect();
        assert_eq!(
            paths,
            [
                ("docs/a b.md", "docs/a b.md", FileKind::Changed),
                ("x", "y", FileKind::Renamed),
                ("ä\"", "ä\"", FileKind::Added),
                ("i.png", "i.png", FileKind::Changed)
            ]
        );
        let lines = &files[0].hunks[0].lines;
        assert_eq!(
            lines[..],
            [(Sign::Same, "one"), (Sign::Gone, "-- two"), (Sign::New, "++ two"), (Sign::Same, "three")]
        );
        assert_eq!((files[0].added, files[0].removed, files[2].added), (1, 1, 1));
        assert_eq!(files[3].notes.len(), 1);
    }

    #[test]
    fn nonsense_is_left_out() {
        for odd in [
            "",
            "+x\n",
            "diff --git \n",
            "diff --git a b\n@@ -1,999999999999 +1 @@\n+x",
            "@@ -1 +1 @@\n-x\n",
            "diff --git \"\" \"",
        ] {
            parse(odd);
        }
    }
}
