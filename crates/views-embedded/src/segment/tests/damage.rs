//! Damaged files: an error or the right answer, never a panic and never the wrong figure.

use std::fs;
use std::path::Path;

use copydesk_views::Bucket;
use proptest::prelude::*;

use super::super::{Segment, SegmentError, Sums};
use super::model::{Model, Table, between, models, place};
use super::ranges::large;

/// Everything that can be asked, for one range.
#[derive(Debug, PartialEq)]
struct Answers {
    paths: Vec<std::sync::Arc<str>>,
    table: Table,
    machines: Vec<(u32, u32, u64)>,
    site: Sums,
    path: Vec<Sums>,
    totals: Vec<u64>,
    cells: Vec<(Bucket, u32, u64)>,
}

fn ask(file: &Path, path: &str, from: Bucket, to: Bucket) -> Result<Answers, SegmentError> {
    let segment = Segment::open(file)?;
    // A table of zeros is a table of nothing.
    let mut table = between(&segment, from, to)?;
    table.columns.iter_mut().filter(|column| column.iter().all(|&figure| figure == 0)).for_each(Vec::clear);
    Ok(Answers {
        paths: segment.paths()?.to_vec(),
        table,
        machines: segment.machines_between(from, to)?,
        site: segment.site_before(to)?,
        path: segment.path_before_each(path, &[from, to])?,
        totals: segment.client_totals()?,
        cells: segment.cells()?.collect::<Result<_, _>>()?,
    })
}

fn check(model: &Model, from: Bucket, to: Bucket, harm: impl Fn(&mut Vec<u8>)) {
    let (_folder, file) = place();
    model.write(&file);
    let path = &*model.0[0].1;
    let right = ask(&file, path, from, to).unwrap();
    let mut bytes = fs::read(&file).unwrap();
    let whole = bytes.clone();
    harm(&mut bytes);
    fs::write(&file, &bytes).unwrap();
    match ask(&file, path, from, to) {
        Ok(answers) => assert_eq!(answers, right),
        Err(error) => assert!(bytes != whole && matches!(error, SegmentError::Damaged { .. }), "{error}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_changed_byte_is_noticed_or_does_not_matter(
        model in models(), at: prop::sample::Index, bits in 1_u8.., from: prop::sample::Index, to: prop::sample::Index,
    ) {
        let edges = model.edges();
        check(&model, *from.get(&edges), *to.get(&edges), |bytes| {
            let at = at.index(bytes.len());
            bytes[at] ^= bits;
        });
    }

    #[test]
    fn a_file_that_is_cut_is_noticed(model in models(), at: prop::sample::Index, zeros in 0_usize..3000) {
        check(&model, Bucket::MIN, Bucket::MAX, |bytes| {
            bytes.truncate(at.index(bytes.len()));
            bytes.resize(bytes.len() + zeros, 0);
        });
    }

    #[test]
    fn bytes_that_are_no_segment_are_refused(bytes: Vec<u8>, begins_well: bool) {
        let (_folder, file) = place();
        let head: &[u8] = if begins_well { super::super::format::HEADER } else { &[] };
        fs::write(&file, [head, &bytes].concat()).unwrap();
        let is_refused = matches!(Segment::open(&file), Err(SegmentError::Damaged { .. }));
        prop_assert!(is_refused);
    }
}

/// Every section has a checksum, so only its maker could write a wrong number into it. Even that must end well.
#[test]
fn wrong_numbers_with_right_checksums_end_well() {
    use super::super::format::{FOOTER, Footer, Section, Source};

    let (_folder, file) = place();
    large().write(&file);
    let whole = fs::read(&file).unwrap();
    let (_, footer) = Source::open(&file).unwrap();
    let sections = [
        Section::Paths,
        Section::Clients,
        Section::Pairs,
        Section::Totals,
        Section::Buckets,
        Section::PeopleGroups,
        Section::MachineGroups,
        Section::Checkpoints,
        Section::MachineCheckpoints,
    ];
    let (from, to) = (Bucket(1_800_100), Bucket(1_800_300));
    let try_footer = |bytes: &mut Vec<u8>, footer: &Footer| {
        let end = bytes.len() - FOOTER;
        bytes[end..].copy_from_slice(&footer.to_bytes());
        fs::write(&file, bytes).unwrap();
        let _ = ask(&file, "/", from, to);
    };
    for section in sections {
        let span = footer.section(section);
        let (begin, end) = (span.offset as usize, (span.offset + span.length) as usize);
        for at in (begin..end).step_by(1 + (end - begin) / 12) {
            for change in [1, 0x80, 0xff] {
                let mut bytes = whole.clone();
                bytes[at] ^= change;
                let mut footer = footer.clone();
                footer
                    .set(section, super::super::format::Span { checksum: crc32fast::hash(&bytes[begin..end]), ..span });
                try_footer(&mut bytes, &footer);
            }
        }
    }
    for huge in [0, 1, 1 << 20, u32::MAX / 2, u32::MAX - 1, u32::MAX] {
        let changes: [fn(&mut Footer, u32); 6] = [
            |footer, huge| footer.info.paths = huge,
            |footer, huge| footer.info.clients = huge,
            |footer, huge| footer.buckets = huge,
            |footer, huge| footer.people = huge,
            |footer, huge| footer.machines = huge,
            |footer, huge| footer.columns = huge,
        ];
        for change in changes {
            let mut footer = footer.clone();
            change(&mut footer, huge);
            try_footer(&mut whole.clone(), &footer);
        }
    }
}
