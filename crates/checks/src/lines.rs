/// Lines and columns of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        Self { text, starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect() }
    }

    /// The line and the column in characters, both from 1, of a byte position.
    pub(crate) fn place(&self, at: usize) -> (u32, u32) {
        let at = self.text.floor_char_boundary(at.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.text[start..at].chars().count() + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_characters_from_one() {
        let lines = Lines::of("aé\n\nbc");
        assert_eq!(
            [0, 1, 3, 4, 5, 6, 99].map(|at| lines.place(at)),
            [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (3, 2), (3, 3)]
        );
    }
}
