//! Batches in the ledger: what was counted and is on its way to ClickHouse.

use std::io::Read;

use sqlx::PgConnection;

use crate::error::{Fault, Result};

/// Quarter hour, page, reader and views.
pub(crate) type Cell = (i32, i64, i64, i64);

/// The numbers of a cell, as they are packed.
const WORDS: usize = 4;
/// The most cells of one batch of the ledger: whoever sends it has all of it in memory, sorted for each table.
const MOST_CELLS: usize = 50_000;
/// What cells may take when they are unpacked: a batch is far smaller.
const MOST: u64 = 1 << 30;

/// Puts a batch into the ledger.
pub(crate) async fn put(connection: &mut PgConnection, project: i32, cells: &[Cell]) -> Result<()> {
    for cells in cells.chunks(MOST_CELLS) {
        sqlx::query("INSERT INTO views_batches (project, cells) VALUES ($1, $2)")
            .bind(project)
            .bind(packed(cells)?)
            .execute(&mut *connection)
            .await?;
    }
    Ok(())
}

fn packed(cells: &[Cell]) -> Result<Vec<u8>> {
    // Number after number and not cell after cell: what is alike stands together.
    let numbers = [
        cells.iter().map(|cell| i64::from(cell.0)).collect::<Vec<_>>(),
        cells.iter().map(|cell| cell.1).collect(),
        cells.iter().map(|cell| cell.2).collect(),
        cells.iter().map(|cell| cell.3).collect(),
    ];
    let bytes: Vec<u8> = numbers.iter().flatten().flat_map(|number| number.to_le_bytes()).collect();
    zstd::bulk::compress(&bytes, 1).map_err(|error| Fault::unavailable(error.to_string()))
}

pub(super) fn unpacked(bytes: &[u8]) -> Result<Vec<Cell>> {
    let wrong = |said: String| Fault::unreadable("a batch of page views", said);
    let mut packed = zstd::Decoder::new(bytes).map_err(|error| wrong(error.to_string()))?.take(MOST + 1);
    let mut bytes = Vec::new();
    packed.read_to_end(&mut bytes).map_err(|error| wrong(error.to_string()))?;
    let numbers: Vec<i64> = bytes.as_chunks().0.iter().map(|bytes| i64::from_le_bytes(*bytes)).collect();
    if bytes.len() as u64 > MOST || numbers.len() * 8 != bytes.len() || !numbers.len().is_multiple_of(WORDS) {
        return Err(wrong("it has a wrong length".to_owned()));
    }
    let rows = numbers.len() / WORDS;
    let number = |word: usize, row: usize| numbers.get(word * rows + row).copied().unwrap_or_default();
    let quarter = |row: usize| i32::try_from(number(0, row)).map_err(|error| wrong(error.to_string()));
    (0..rows).map(|row| Ok((quarter(row)?, number(1, row), number(2, row), number(3, row)))).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_packed_is_found_again(
            cells in proptest::collection::vec((0..i32::MAX, 0..i64::MAX, 0..i64::MAX, 0..i64::MAX), 0..50),
        ) {
            prop_assert_eq!(unpacked(&packed(&cells).unwrap()).unwrap(), cells);
        }

        #[test]
        fn what_is_not_a_batch_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = unpacked(&bytes);
            prop_assert!(unpacked(&zstd::bulk::compress(&[&bytes[..], &[0; 33]].concat(), 1).unwrap()[..]).is_err()
                || (bytes.len() + 33) % 32 == 0);
        }
    }
}
