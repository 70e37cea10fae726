//! Page views of a database as pieces that travel to another place, and such pieces as its rows.

mod arrival;
mod departure;

pub use arrival::Arrival;
pub use departure::send_all;
