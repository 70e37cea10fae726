//! Reads all of a segment, to find damage before a question does.

use super::format::FOOTER;
use super::index::{BY_MACHINE, BY_PATH};
use super::reader::Segment;
use super::{SegmentError, Sums};
use copydesk_views::Bucket;

impl Segment {
    /// Whether every byte that answers are made of is as it was written, and adds up.
    pub(crate) fn verify(&self) -> Result<(), SegmentError> {
        let damaged = |what: &str| Err(self.source().damaged(what));
        let once = self.source().footer(1)?.ok_or_else(|| self.source().damaged("its end is not readable"))?;
        // Files of earlier versions have one footer, behind the last section.
        let content = once.sections().map(|span| span.offset + span.length).max().unwrap_or(0);
        let has_two = once.info.bytes - content >= 2 * FOOTER as u64;
        if has_two && self.source().footer(2)?.as_ref() != Some(&once) {
            return damaged("one of its two ends is not readable");
        }
        self.paths()?;
        self.clients()?;
        self.pairs()?;
        let (mut cells, mut views) = (0, 0_u64);
        for cell in self.cells()? {
            let (_, _, count) = cell?;
            (cells, views) = (cells + 1, views.saturating_add(count));
        }
        let info = self.info();
        if (cells, views) != (info.cells, info.views) {
            return damaged("its cells do not add up");
        }
        if self.client_totals()?.iter().fold(0, |sum: u64, views| sum.saturating_add(*views)) != views {
            return damaged("its readers do not add up");
        }
        let index = self.index()?;
        for kind in [BY_PATH, BY_MACHINE] {
            for checkpoint in index.checkpoints(kind) {
                self.read_checkpoint(*checkpoint, self.table_size(kind))?;
            }
        }
        let all: Sums = self.site_before(Bucket::MAX)?;
        if all.iter().sum::<u64>() > views {
            return damaged("its figures do not add up");
        }
        Ok(())
    }
}
