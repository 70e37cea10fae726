//! Numbers and cells as bytes.

/// Bytes that are taken from the front. Whatever is not there is `None`, never a panic.
#[derive(Clone, Copy)]
pub(super) struct Input<'a>(pub(super) &'a [u8]);

impl<'a> Input<'a> {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(head)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Seven bits a byte, the low ones first.
    #[inline]
    pub(super) fn varint(&mut self) -> Option<u64> {
        // Nearly all numbers have one or two bytes.
        match *self.0 {
            [a, ref rest @ ..] if a < 0x80 => {
                self.0 = rest;
                Some(u64::from(a))
            }
            [a, b, ref rest @ ..] if b < 0x80 => {
                self.0 = rest;
                Some(u64::from(a & 0x7f) | u64::from(b) << 7)
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A varint of up to four bytes without asking how long it is, because that is hard to foresee; others as usual.
    #[inline]
    fn token(&mut self) -> Option<u64> {
        const GOES_ON: u32 = 0x8080_8080;
        let Some((bytes, _)) = self.0.split_first_chunk::<4>() else { return self.varint() };
        let word = u32::from_le_bytes(*bytes);
        let ends = !word & GOES_ON;
        if ends == 0 {
            return self.long_varint();
        }
        // Everything up to and with the last byte of the number, seven bits a byte.
        let kept = word & (ends ^ (ends - 1));
        let low = kept & 0x7f | (kept & 0x7f00) >> 1;
        let high = (kept & 0x7f_0000) >> 2 | (kept & 0x7f00_0000) >> 3;
        self.0 = &self.0[(ends.trailing_zeros() / 8) as usize + 1..];
        Some(u64::from(low | high))
    }

    /// A varint that must fit.
    pub(super) fn varint32(&mut self) -> Option<u32> {
        self.varint()?.try_into().ok()
    }

    /// The next cell of a bucket; see [`put_cell`].
    #[inline]
    pub(super) fn cell(&mut self, next: &mut u32) -> Option<(u32, u64)> {
        let token = self.token()?;
        let pair = next.checked_add(u32::try_from(token >> 2).ok()?)?;
        *next = pair.checked_add(1)?;
        let count = match token & 3 {
            3 => self.varint()?.checked_add(4)?,
            few => few + 1,
        };
        Some((pair, count))
    }
}

pub(super) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a cell: how far its pair is from `next`, with counts up to three in the same number. `next` is one past the
/// pair before it in the bucket, 0 for the first, and is moved on.
pub(super) fn put_cell(out: &mut Vec<u8>, next: &mut u32, pair: u32, count: u64) {
    let step = u64::from(pair - *next);
    if count <= 3 {
        put_varint(out, step << 2 | (count - 1));
    } else {
        put_varint(out, step << 2 | 3);
        put_varint(out, count - 4);
    }
    *next = pair + 1;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<u64>, shifts in proptest::collection::vec(0_u32..64, 0..50)) {
            let values: Vec<u64> = values.into_iter().zip(shifts).map(|(value, shift)| value >> shift).collect();
            let mut bytes = Vec::new();
            values.iter().for_each(|&value| put_varint(&mut bytes, value));
            let mut input = Input(&bytes);
            for value in values {
                prop_assert_eq!(input.varint(), Some(value));
            }
            prop_assert!(input.is_empty());
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>) {
            let mut input = Input(&bytes);
            let mut next = 0;
            while let Some((pair, count)) = input.cell(&mut next) {
                prop_assert!(pair < next && count > 0);
            }
        }

        #[test]
        fn cells_come_back(mut pairs: Vec<u32>, counts in proptest::collection::vec(1..10_u64, 100)) {
            pairs.retain(|&pair| pair < u32::MAX);
            pairs.sort_unstable();
            pairs.dedup();
            let cells: Vec<_> = pairs.into_iter().zip(counts).collect();
            let (mut bytes, mut next) = (Vec::new(), 0);
            cells.iter().for_each(|&(pair, count)| put_cell(&mut bytes, &mut next, pair, count));
            let (mut input, mut next) = (Input(&bytes), 0);
            for cell in cells {
                prop_assert_eq!(input.cell(&mut next), Some(cell));
            }
            prop_assert!(input.is_empty());
        }
    }

    #[test]
    fn a_number_of_more_than_64_bits_is_none() {
        assert_eq!(Input(&[0xff; 11]).varint(), None);
        assert_eq!(Input(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]).varint(), None);
        assert_eq!(Input(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]).varint(), Some(u64::MAX));
    }
}
