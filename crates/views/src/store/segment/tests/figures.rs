//! Figures, measured by hand.
