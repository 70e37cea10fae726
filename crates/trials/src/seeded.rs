//! Chance that can be had again: the same seed gives the same run.

/// Numbers by chance from a seed (SplitMix64: short, fast and even enough for samples and for kill runs).
#[derive(Debug, Clone)]
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Numbers of their own for part `number` of something, whatever the other parts have drawn.
    pub fn part(seed: u64, number: u64) -> Self {
        let mut first = Self(seed ^ number.wrapping_mul(0xd1b5_4a32_d192_ed03));
        Self(first.draw())
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.draw()) * end as u128) >> 64) as usize
    }

    /// A number in a range, both ends included.
    pub fn within(&mut self, from: usize, to: usize) -> usize {
        from + self.below(to - from + 1)
    }

    /// A number from 0 to 1.
    pub fn fraction(&mut self) -> f64 {
        (self.draw() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// True with this chance.
    pub fn chance(&mut self, chance: f64) -> bool {
        self.fraction() < chance
    }

    /// Puts items into another order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            items.swap(end, self.below(end + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_run_again_and_another_seed_another() {
        let run = |seed| -> Vec<u64> {
            let mut seeded = Seeded::new(seed);
            (0..8).map(|_| seeded.draw()).collect()
        };
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
        assert_ne!(Seeded::part(1, 0).draw(), Seeded::part(1, 1).draw());
    }

    #[test]
    fn every_number_of_a_range_comes() {
        let mut seeded = Seeded::new(7);
        let mut seen = [false; 5];
        for _ in 0..200 {
            seen[seeded.within(3, 7) - 3] = true;
            assert!((0.0..1.0).contains(&seeded.fraction()));
        }
        assert_eq!(seen, [true; 5]);
    }
}
