//! How a new version is found to be well.

/// How long a version may take until its health check passes.
pub const PATIENCE_SECONDS: u64 = 60;
