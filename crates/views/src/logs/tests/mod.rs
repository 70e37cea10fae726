//! Imports, seen from outside.

mod again;
mod mixture;
mod rotation;
mod servers;
