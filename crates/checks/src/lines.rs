/// Characters are counted once for each block of this many bytes, so that long lines cost no more than short ones.
const BLOCK: usize = 1024;

/// Lines and columns of a text.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
    /// How many characters begin before each block.
    before_block: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let mut before_block = vec![0];
        let mut count = 0;
        for block in text.as_bytes().chunks(BLOCK) {
            count += beginnings(block);
            before_block.push(count);
        }
        Self { text, starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect(), before_block }
    }

    /// The line and the column in characters, both from 1, of a byte position.
    pub(crate) fn place(&self, at: usize) -> (u32, u32) {
        let at = self.text.floor_char_boundary(at.min(self.text.len()));
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let column = self.characters_before(at) - self.characters_before(start) + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }

    /// The text of the line that a byte position is in, and where it begins.
    pub(crate) fn line_at(&self, at: usize) -> (usize, &'a str) {
        let line = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let end = self.starts.get(line).map_or(self.text.len(), |next| next - 1);
        (start, &self.text[start..end])
    }

    fn characters_before(&self, at: usize) -> usize {
        let block = at / BLOCK;
        self.before_block[block] + beginnings(&self.text.as_bytes()[block * BLOCK..at])
    }
}

/// How many characters begin in these bytes of a text.
fn beginnings(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| (**byte & 0xC0) != 0x80).count()
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
        assert_eq!([0, 4, 5].map(|at| lines.line_at(at)), [(0, "aé"), (4, ""), (5, "bc")]);
    }

    #[test]
    fn long_lines_are_counted_as_others() {
        let text = format!("x\n{}", "é".repeat(3000));
        let lines = Lines::of(&text);
        for number in [0, 1, 511, 512, 513, 1023, 1024, 2999, 3000] {
            let column = u32::try_from(number + 1).expect("small");
            assert_eq!(lines.place(2 + 2 * number), (2, column));
        }
    }
}
