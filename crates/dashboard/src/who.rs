//! Who asks: what a handler gets of whoever made the request.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::StatusCode;
use axum::http::request::Parts;
use copydesk_desk::people::Visitor;
use copydesk_domain::{Actor, Project, Role, User};
use copydesk_store::{Session, Store, Visit};

use crate::dash::Dash;

/// Who asks, as far as it is known.
#[derive(Clone, Default)]
pub(crate) struct Asks {
    pub(crate) visit: Option<Visit>,
    pub(crate) visitor: Visitor,
    /// The id under which the log tells of this request.
    pub(crate) request_id: String,
    /// Light or dark, if they have chosen.
    pub(crate) theme: Option<&'static str>,
    /// The address for which the proxy in front vouches.
    pub(crate) vouched: Option<String>,
    /// Whether the proxy said something that is no address.
    pub(crate) unclear: bool,
}

impl Asks {
    /// Whether the proxy says at this moment that it is they who signed in through it.
    pub(crate) fn is_vouched_for(&self) -> bool {
        let is_them = |visit: &Visit| visit.session.way == "proxy" && self.vouched.as_ref() == Some(&visit.user.email);
        self.visit.as_ref().is_some_and(is_them)
    }
}

impl<S: Sync> FromRequestParts<S> for Asks {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

/// Somebody who is signed in.
pub(crate) struct SignedIn {
    pub(crate) user: User,
    pub(crate) session: Session,
    pub(crate) asks: Asks,
}

impl SignedIn {
    /// The store, for what they do.
    pub(crate) fn store(&self, dash: &Dash) -> Store {
        dash.desk().store.by(Actor::user(&self.user))
    }
}

impl<S: Sync> FromRequestParts<S> for SignedIn {
    type Rejection = StatusCode;

    /// Refused only where a route forgot to need it.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let asks = parts.extensions.get::<Asks>().cloned().ok_or(StatusCode::FORBIDDEN)?;
        let Visit { session, user, .. } = asks.visit.clone().ok_or(StatusCode::FORBIDDEN)?;
        Ok(Self { user, session, asks })
    }
}

/// Somebody with a place in the project of the address.
pub(crate) struct InProject {
    pub(crate) user: User,
    pub(crate) project: Project,
    pub(crate) role: Role,
    pub(crate) asks: Asks,
}

impl InProject {
    /// The store, for what they do.
    pub(crate) fn store(&self, dash: &Dash) -> Store {
        dash.desk().store.by(Actor::user(&self.user))
    }

    /// Jobs, for what they do.
    pub(crate) fn jobs(&self, dash: &Dash) -> copydesk_desk::jobs::Jobs {
        dash.desk().jobs.by(Actor::user(&self.user))
    }

    /// The address of one of the project's pages.
    pub(crate) fn path(&self, rest: &str) -> String {
        format!("/p/{}{rest}", self.project.id)
    }
}

impl<S: Sync> FromRequestParts<S> for InProject {
    type Rejection = StatusCode;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, StatusCode> {
        let asks = parts.extensions.get::<Asks>().cloned().ok_or(StatusCode::FORBIDDEN)?;
        let visit = asks.visit.clone().ok_or(StatusCode::FORBIDDEN)?;
        let (project, role) = visit.project.ok_or(StatusCode::FORBIDDEN)?;
        Ok(Self { user: visit.user, project, role, asks })
    }
}
