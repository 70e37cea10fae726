//! Names that differ little from one that is not there.

/// How many names come into question, and how many of them are compared letter by letter: with more, none stands out.
const MOST_NAMES: usize = 5000;
const MOST_COMPARED: usize = 20;
/// Longer names are not compared.
const LONGEST: usize = 200;

/// Names that are asked often which of them is near.
#[derive(Debug, Default)]
pub(crate) struct Names {
    names: Vec<Measured>,
}

/// A name and which characters it has, by which most are ruled out.
#[derive(Debug)]
struct Measured {
    name: String,
    letters: Vec<char>,
    set: u64,
}

impl Names {
    pub(crate) fn of(names: impl Iterator<Item = String>) -> Self {
        let fits = names.take(MOST_NAMES).filter(|name| name.len() <= LONGEST);
        let measured = |name: String| Measured { letters: name.chars().collect(), set: characters(&name), name };
        Self { names: fits.map(measured).collect() }
    }

    /// The one of the names that differs least from `wanted`, if it differs in at most two characters, but does differ,
    /// and no other is as near.
    pub(crate) fn nearest(&self, wanted: &str) -> Option<&str> {
        let letters: Vec<char> = wanted.chars().collect();
        let allowed = match letters.len() {
            0..=3 => return None,
            4..=6 => 1,
            _ => 2,
        };
        if wanted.len() > LONGEST {
            return None;
        }
        let set = characters(wanted);
        let mut compared = 0;
        let mut best: Option<(usize, &str)> = None;
        let mut is_only = true;
        for Measured { name, letters: other, set: other_set } in &self.names {
            // A character added, dropped or replaced changes at most two of the set.
            if letters.len().abs_diff(other.len()) > allowed || (set ^ other_set).count_ones() as usize > 2 * allowed {
                continue;
            }
            compared += 1;
            if compared > MOST_COMPARED {
                return None;
            }
            let Some(distance) = distance(&letters, other, allowed) else { continue };
            match best {
                _ if distance == 0 => {}
                Some((least, known)) if distance == least => is_only &= known == name,
                Some((least, _)) if distance > least => {}
                _ => (best, is_only) = (Some((distance, name.as_str())), true),
            }
        }
        best.filter(|_| is_only).map(|(_, name)| name)
    }
}

/// How many characters must be added, dropped or replaced to get from one to the other; none if more than `most`.
fn distance(a: &[char], b: &[char], most: usize) -> Option<usize> {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (line, letter) in a.iter().enumerate() {
        // Further from the middle than `most` no way is short enough.
        let (first, last) = ((line + 1).saturating_sub(most).max(1), (line + 1 + most).min(b.len()));
        let mut corner = row[first - 1];
        row[first - 1] = if first == 1 { line + 1 } else { most + 1 };
        for at in first..=last {
            let above = if at > line + most { most + 1 } else { row[at] };
            let kept = corner + usize::from(*letter != b[at - 1]);
            corner = row[at];
            row[at] = kept.min(above + 1).min(row[at - 1] + 1);
        }
        if (first - 1..=last).all(|at| row[at] > most) {
            return None;
        }
    }
    row.last().copied().filter(|distance| *distance <= most)
}

/// Which characters a name has, folded into 64.
fn characters(name: &str) -> u64 {
    name.chars().fold(0, |set, c| set | 1 << (u32::from(c) % 64))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nearest(wanted: &str, names: &[&str]) -> Option<String> {
        Names::of(names.iter().map(|name| (*name).to_owned())).nearest(wanted).map(str::to_owned)
    }

    #[test]
    fn only_one_that_is_near_is_named() {
        assert_eq!(nearest("instalation", &["installation", "usage"]).as_deref(), Some("installation"));
        assert_eq!(nearest("instalation", &["installation", "installation"]).as_deref(), Some("installation"));
        assert_eq!(nearest("option-a", &["option-b", "option-c"]), None, "two are as near");
        assert_eq!(nearest("option-a", &["option-b", "option-cd"]).as_deref(), Some("option-b"));
        assert_eq!(nearest("abc", &["abd"]), None, "short names are near by chance");
        assert_eq!(nearest("usage", &["usage"]), None, "what is the same is no help");
        assert_eq!(nearest("größe", &["grösse", "grüße"]).as_deref(), Some("grüße"));
    }

    proptest::proptest! {
        #[test]
        fn distances_are_those_of_the_whole_table(a in "[abc]{0,9}", b in "[abc]{0,9}", most in 0usize..3) {
            let letters = |text: &str| text.chars().collect::<Vec<char>>();
            let whole = Some(strsim::levenshtein(&a, &b)).filter(|distance| *distance <= most);
            proptest::prop_assert_eq!(distance(&letters(&a), &letters(&b), most), whole);
        }
    }
}
