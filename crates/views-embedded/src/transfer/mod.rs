//! Page views of a folder as pieces that travel to another place, and such pieces as a folder.

mod arrival;
mod departure;

pub use arrival::Arrival;
pub use departure::{FolderCopy, send_all};
