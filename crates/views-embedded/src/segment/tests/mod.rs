//! Segments against a list of cells.

mod damage;
mod figures;
mod model;
mod ranges;
mod reshaping;
