use std::ops::Range;

/// Sorts ranges and joins those that touch or overlap; empty ones go.
pub(super) fn join(ranges: &mut Vec<Range<usize>>) {
    ranges.retain(|range| range.start < range.end);
    ranges.sort_by_key(|range| (range.start, range.end));
    ranges.dedup_by(|next, kept| {
        let touches = next.start <= kept.end;
        if touches {
            kept.end = kept.end.max(next.end);
        }
        touches
    });
}

/// What of `ranges` is in none of `holes`. Both are joined.
pub(super) fn subtract(ranges: &[Range<usize>], holes: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut left = Vec::with_capacity(ranges.len());
    let mut first = 0;
    for range in ranges {
        while holes.get(first).is_some_and(|hole| hole.end <= range.start) {
            first += 1;
        }
        let mut start = range.start;
        for hole in holes[first..].iter().take_while(|hole| hole.start < range.end) {
            if start < hole.start {
                left.push(start..hole.start);
            }
            start = start.max(hole.end);
        }
        if start < range.end {
            left.push(start..range.end);
        }
    }
    left
}

/// Those of the joined ranges that overlap `range`.
pub(super) fn overlapping<'a>(ranges: &'a [Range<usize>], range: &Range<usize>) -> &'a [Range<usize>] {
    let first = ranges.partition_point(|other| other.end <= range.start);
    let length = ranges[first..].partition_point(|other| other.start < range.end);
    &ranges[first..first + length]
}

/// The joined range that holds a position.
pub(super) fn holding(ranges: &[Range<usize>], at: usize) -> Option<&Range<usize>> {
    let after = ranges.partition_point(|range| range.start <= at);
    ranges[..after].last().filter(|range| at < range.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_joined_and_subtracted() {
        let mut ranges = vec![5..9, 0..3, 3..4, 7..12, 2..2];
        join(&mut ranges);
        assert_eq!(ranges, [0..4, 5..12]);
        assert_eq!(subtract(&ranges, &[1..2, 3..6, 11..20]), [0..1, 2..3, 6..11]);
        assert_eq!(holding(&ranges, 5), Some(&(5..12)));
        assert_eq!(holding(&ranges, 4), None);
    }
}
