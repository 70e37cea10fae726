//! How what stands on the command line is read.

use std::io;
use std::num::ParseIntError;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) fn seconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_secs)
}

pub(crate) fn milliseconds(text: &str) -> Result<Duration, ParseIntError> {
    text.parse().map(Duration::from_millis)
}

/// A program that is there; whoever starts it may do so from another folder.
pub(crate) fn program(text: &str) -> io::Result<PathBuf> {
    Path::new(text).canonicalize()
}

pub(crate) fn absolute(text: &str) -> io::Result<PathBuf> {
    std::path::absolute(text)
}
