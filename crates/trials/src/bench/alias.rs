/// Draws places by their weight, each in the same time (the alias method).
pub(super) struct Alias {
    /// For each place: how much of it is its own, of 2³², and whose the rest is.
    places: Vec<(u32, u32)>,
}

impl Alias {
    pub(super) fn new(weights: &[f64]) -> Self {
        let sum: f64 = weights.iter().sum();
        let mut left: Vec<f64> = weights.iter().map(|weight| weight / sum * weights.len() as f64).collect();
        let mut places: Vec<(u32, u32)> = (0..weights.len()).map(|place| (u32::MAX, place as u32)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..left.len()).partition(|place| left[*place] < 1.0);
        while let (Some(less), Some(&more)) = (small.pop(), large.last()) {
            places[less] = ((left[less] * 4_294_967_295.0) as u32, more as u32);
            left[more] -= 1.0 - left[less];
            if left[more] < 1.0 {
                large.pop();
                small.push(more);
            }
        }
        Self { places }
    }

    /// The place for a number by chance.
    pub(super) fn place(&self, number: u64) -> u32 {
        let at = ((number >> 32) * self.places.len() as u64) >> 32;
        let (own, other) = self.places[at as usize];
        if (number as u32) <= own { at as u32 } else { other }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeded::Seeded;

    #[test]
    fn places_come_as_often_as_they_weigh() {
        let alias = Alias::new(&[5.0, 0.0, 1.0, 4.0]);
        let mut seeded = Seeded::new(3);
        let mut seen = [0u32; 4];
        (0..100_000).for_each(|_| seen[alias.place(seeded.draw()) as usize] += 1);
        assert_eq!(seen[1], 0);
        for (place, part) in [(0, 50_000), (2, 10_000), (3, 40_000)] {
            assert!(seen[place].abs_diff(part) < 1_000, "{seen:?}");
        }
    }
}
