//! Pages for people.

mod html;
mod pull_request;

pub(crate) use pull_request::*;
