//! The pages, one file each, and the table of them all.

pub(crate) mod ask;
pub(crate) mod deeds;
pub(crate) mod errors;
mod home;
mod keys;
pub(crate) mod links;
mod me;
mod new;
mod people;
mod server;
mod server_keys;
pub(crate) mod settings;
mod sign_in;

use axum::Router;
use copydesk_domain::Role;

use crate::access::{Needs, Row, Table};
use crate::assets;
use crate::dash::Dash;

const VIEWER: Needs = Needs::Member(Role::Viewer);
const OWNER: Needs = Needs::Member(Role::Owner);

/// Everything the dashboard answers to, and the answer where it has nothing.
pub fn router(dash: Dash) -> (Router, Router) {
    let (router, _) = table(dash.clone()).finish();
    (router.with_state(dash.clone()), Router::new().fallback(errors::not_found).with_state(dash))
}

/// The routes and what they need, as they are served.
pub fn rows(dash: Dash) -> Vec<Row> {
    table(dash).finish().1
}

fn table(dash: Dash) -> Table {
    let table = Table::new(dash).get(Needs::Nothing, "/assets/{mark}/{file}", assets::asset);
    let table = sign_in::routes(table);
    let table = home::routes(table);
    let table = me::routes(table);
    let table = keys::routes(table);
    let table = new::routes(table);
    let table = settings::routes(table);
    let table = people::routes(table);
    let table = server::routes(table);
    server_keys::routes(table)
}
