/// Whether something can be done; if that is not a yes, why, as one sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ability {
    Yes,
    No(String),
    /// The host does not say.
    Unknown(String),
}

impl Ability {
    /// Why not, if it is a no.
    pub fn why_not(&self) -> Option<&str> {
        if let Self::No(why) = self { Some(why) } else { None }
    }

    /// `Yes` if `is_so`, else `No` with the reason.
    pub(crate) fn when(is_so: bool, why_not: impl Into<String>) -> Self {
        if is_so { Self::Yes } else { Self::No(why_not.into()) }
    }
}
