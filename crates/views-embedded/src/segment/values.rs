use std::ops::Range;

use super::packed::Value;

/// Cumulative figures, column after column. All states of a segment are of the same kind.
#[derive(Debug, Clone)]
pub(super) enum Values {
    Narrow(Vec<u32>),
    Wide(Vec<u64>),
}

impl Values {
    pub(super) fn zero(wide: bool, length: usize) -> Self {
        if wide { Self::Wide(vec![0; length]) } else { Self::Narrow(vec![0; length]) }
    }

    pub(super) fn get(&self, place: usize) -> u64 {
        match self {
            Self::Narrow(values) => values.get(place).map_or(0, |&value| value.wide()),
            Self::Wide(values) => values.get(place).copied().unwrap_or(0),
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            Self::Narrow(values) => size_of_val(values.as_slice()),
            Self::Wide(values) => size_of_val(values.as_slice()),
        }
    }

    /// These figures less those of an earlier state, in these places.
    pub(super) fn less(&self, earlier: Option<&Self>, places: Range<usize>) -> Vec<u64> {
        fn difference<V: Value>(later: &[V], earlier: Option<&[V]>) -> Vec<u64> {
            match earlier {
                Some(earlier) => later.iter().zip(earlier).map(|(a, b)| a.wide().wrapping_sub(b.wide())).collect(),
                None => later.iter().map(|value| value.wide()).collect(),
            }
        }
        match (self, earlier) {
            (Self::Narrow(later), Some(Self::Narrow(earlier))) => {
                difference(&later[places.clone()], Some(&earlier[places]))
            }
            (Self::Wide(later), Some(Self::Wide(earlier))) => {
                difference(&later[places.clone()], Some(&earlier[places]))
            }
            (Self::Narrow(later), _) => difference(&later[places], None),
            (Self::Wide(later), _) => difference(&later[places], None),
        }
    }
}
