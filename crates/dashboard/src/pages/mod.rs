//! The pages, one file each, and the table of them all.

pub(crate) mod ask;
mod checked;
pub(crate) mod deeds;
mod find;
mod home;
mod jobs;
mod keys;
pub(crate) mod links;
mod me;
pub(crate) mod named;
mod new;
mod oidc;
mod overview;
mod people;
mod pull_link;
mod pulls;
mod server;
mod server_keys;
pub(crate) mod settings;
mod sign_in;
mod site_pages;
mod views;

use axum::Router;
use copydesk_domain::Role;

use crate::access::{Needs, Row, Table};
use crate::assets;
use crate::dash::Dash;
use crate::errors;

const VIEWER: Needs = Needs::Member(Role::Viewer);
const EDITOR: Needs = Needs::Member(Role::Editor);
const OWNER: Needs = Needs::Member(Role::Owner);

/// Everything the dashboard answers to, and the answer where it has nothing.
pub fn router(dash: Dash) -> (Router, Router) {
    let (router, _) = table().finish();
    (router.with_state(dash.clone()), Router::new().fallback(errors::not_found).with_state(dash))
}

/// The routes and what they need, as they are served.
pub fn rows() -> Vec<Row> {
    table().finish().1
}

fn table() -> Table {
    let table = Table::default().get(Needs::Nothing, "/assets/{mark}/{file}", assets::asset);
    let table = sign_in::routes(table);
    let table = oidc::routes(table);
    let table = home::routes(table);
    let table = me::routes(table);
    let table = keys::routes(table);
    let table = new::routes(table);
    let table = settings::routes(table);
    let table = people::routes(table);
    let table = server::routes(table);
    let table = overview::routes(table);
    let table = views::routes(table);
    let table = site_pages::routes(table);
    let table = find::routes(table);
    let table = jobs::routes(table);
    let table = pulls::routes(table);
    let table = pull_link::routes(table);
    server_keys::routes(table)
}
