//! A table of cumulative figures as bytes: rows in chunks, so that one row can be read without the others.
//!
//! Most figures are small and a few are not: a chunk of a column has a width that fits most, and what is above it is
//! listed after it.

use super::codec::{Input, put_varint};

/// Rows of a chunk.
pub(super) const CHUNK: usize = 1024;
/// Length and checksum of a chunk, in the table's head.
pub(super) const HEAD: usize = 8;

const WIDTHS: [usize; 5] = [0, 1, 2, 4, 8];
/// What a figure above the width costs, about.
const LISTED: usize = 4;

/// A figure as it is held in memory.
pub(super) trait Value: Copy + Default {
    fn of(value: u64) -> Self;
    fn wide(self) -> u64;
}

impl Value for u32 {
    fn of(value: u64) -> Self {
        value as Self
    }
    fn wide(self) -> u64 {
        u64::from(self)
    }
}

impl Value for u64 {
    fn of(value: u64) -> Self {
        value
    }
    fn wide(self) -> u64 {
        self
    }
}

pub(super) fn chunks(rows: usize) -> usize {
    rows.div_ceil(CHUNK)
}

/// The bytes of a table, column after column in `values`: a head of [`HEAD`] bytes a chunk, then the chunks.
pub(super) fn encode(values: &[u64], rows: usize) -> Vec<u8> {
    let mut out = vec![0; chunks(rows) * HEAD];
    for chunk in 0..chunks(rows) {
        let begin = out.len();
        for column in values.chunks_exact(rows.max(1)) {
            put_run(&mut out, &column[chunk * CHUNK..rows.min((chunk + 1) * CHUNK)]);
        }
        let length = (out.len() - begin) as u32;
        let checksum = crc32fast::hash(&out[begin..]);
        let head = &mut out[chunk * HEAD..(chunk + 1) * HEAD];
        head[..4].copy_from_slice(&length.to_le_bytes());
        head[4..].copy_from_slice(&checksum.to_le_bytes());
    }
    out
}

fn put_run(out: &mut Vec<u8>, values: &[u64]) {
    let cost = |width: usize| values.len() * width + LISTED * values.iter().filter(|&&v| above(v, width) > 0).count();
    let width = WIDTHS.into_iter().min_by_key(|&width| cost(width)).unwrap_or(8);
    out.push(width as u8);
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()[..width]));
    let listed = || values.iter().enumerate().filter(|&(_, &value)| above(value, width) > 0);
    put_varint(out, listed().count() as u64);
    for (row, &value) in listed() {
        put_varint(out, row as u64);
        put_varint(out, above(value, width));
    }
}

/// What of a figure is above a width.
fn above(value: u64, width: usize) -> u64 {
    value.checked_shr(width as u32 * 8).unwrap_or(0)
}

/// Length and checksum of each chunk.
pub(super) fn heads(head: &[u8]) -> impl Iterator<Item = (usize, u32)> + '_ {
    head.chunks_exact(HEAD).map_while(|head| {
        let mut input = Input(head);
        Some((input.u32()? as usize, input.u32()?))
    })
}

/// Reads a table of `rows` × `columns` from what [`encode`] made of it.
pub(super) fn decode<V: Value>(bytes: &[u8], rows: usize, columns: usize) -> Option<Vec<V>> {
    let mut input = Input(bytes);
    let head = input.take(chunks(rows).checked_mul(HEAD)?)?;
    // A run has at least two bytes: who says more rows than that has room for is not believed.
    if rows.checked_mul(columns)? / CHUNK > bytes.len() {
        return None;
    }
    let mut values = vec![V::default(); rows * columns];
    for (chunk, (length, checksum)) in heads(head).enumerate() {
        let bytes = input.take(length)?;
        if crc32fast::hash(bytes) != checksum {
            return None;
        }
        let mut runs = Input(bytes);
        for column in values.chunks_exact_mut(rows.max(1)) {
            run(&mut runs, &mut column[chunk * CHUNK..rows.min((chunk + 1) * CHUNK)])?;
        }
    }
    input.is_empty().then_some(values)
}

/// Reads one row of a chunk.
pub(super) fn row(bytes: &[u8], rows: usize, columns: usize, row: usize) -> Option<Vec<u64>> {
    let mut input = Input(bytes);
    let mut values = vec![0_u64; rows.min(CHUNK)];
    (0..columns)
        .map(|_| {
            run(&mut input, &mut values)?;
            values.get(row).copied()
        })
        .collect()
}

fn run<V: Value>(input: &mut Input<'_>, values: &mut [V]) -> Option<()> {
    let width = usize::from(u8::from_le_bytes(input.array()?));
    match width {
        0 => values.fill(V::default()),
        1 => fixed(input, values, |[a]: [u8; 1]| u64::from(a))?,
        2 => fixed(input, values, |bytes| u64::from(u16::from_le_bytes(bytes)))?,
        4 => fixed(input, values, |bytes| u64::from(u32::from_le_bytes(bytes)))?,
        8 => fixed(input, values, u64::from_le_bytes)?,
        _ => return None,
    }
    for _ in 0..input.varint()? {
        let value = values.get_mut(usize::try_from(input.varint()?).ok()?)?;
        let above = input.varint()?.checked_shl(width as u32 * 8)?;
        *value = V::of(value.wide() | above);
    }
    Some(())
}

fn fixed<V: Value, const N: usize>(input: &mut Input<'_>, values: &mut [V], read: fn([u8; N]) -> u64) -> Option<()> {
    let bytes = input.take(values.len() * N)?;
    for (value, bytes) in values.iter_mut().zip(bytes.as_chunks::<N>().0) {
        *value = V::of(read(*bytes));
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn figures() -> impl Strategy<Value = Vec<u64>> {
        let skewed = (any::<u64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift);
        prop_oneof![proptest::collection::vec(skewed, 1..60), proptest::collection::vec(0_u64..300, 1..3000)]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn tables_come_back(values in figures(), columns in 1_usize..5) {
            let rows = values.len().div_ceil(columns);
            let values: Vec<u64> = values.iter().copied().cycle().take(rows * columns).collect();
            let bytes = encode(&values, rows);
            prop_assert_eq!(decode::<u64>(&bytes, rows, columns), Some(values.clone()));
            let (mut begin, wanted) = (chunks(rows) * HEAD, rows / 2);
            for (chunk, (length, _)) in heads(&bytes[..begin]).enumerate() {
                let rows_here = (rows - chunk * CHUNK).min(CHUNK);
                if wanted / CHUNK == chunk {
                    let expected: Vec<u64> = values.chunks_exact(rows).map(|column| column[wanted]).collect();
                    let found = row(&bytes[begin..begin + length], rows_here, columns, wanted % CHUNK);
                    prop_assert_eq!(found, Some(expected));
                }
                begin += length;
            }
        }

        #[test]
        fn any_bytes_are_read_without_a_panic(bytes: Vec<u8>, rows in 0_usize..5000, columns in 0_usize..5) {
            let _ = decode::<u32>(&bytes, rows, columns);
            let _ = row(&bytes, rows, columns, rows / 2);
        }
    }

    #[test]
    fn small_figures_take_few_bytes() {
        let mut values = vec![3_u64; 1000];
        values[7] = u64::MAX;
        assert!(encode(&values, 1000).len() < 1030);
    }
}
