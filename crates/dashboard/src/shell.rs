//! What surrounds every page.

use copydesk_domain::{Project, Role, random_token};

use crate::assets::Assets;
use crate::dash::Dash;
use crate::who::{Asks, InProject, SignedIn};

/// The places of a project: what the address ends with, the name, and the letter that leads there after `g`.
pub(crate) const TABS: [(&str, &str, &str); 7] = [
    ("", "Overview", "o"),
    ("/jobs", "Jobs", "j"),
    ("/views", "Views", "v"),
    ("/pages", "Pages", "p"),
    ("/pulls", "Pull requests", "r"),
    ("/keys", "API keys", "k"),
    ("/settings", "Settings", "s"),
];

/// What a page says of itself, and who looks at it.
pub(crate) struct Shell {
    pub(crate) title: String,
    pub(crate) theme: Option<&'static str>,
    pub(crate) assets: Assets,
    pub(crate) user: Option<String>,
    pub(crate) is_admin: bool,
    pub(crate) project: Option<(Project, Role)>,
    /// For a form that is to be taken once.
    pub(crate) mark: String,
    /// The end of the address of the place that this page belongs to.
    pub(crate) tab: Option<&'static str>,
}

impl Shell {
    pub(crate) fn new(dash: &Dash, asks: Option<&Asks>, title: impl Into<String>) -> Self {
        let visit = asks.and_then(|asks| asks.visit.as_ref());
        Self {
            title: title.into(),
            theme: asks.and_then(|asks| asks.theme),
            assets: dash.assets().clone(),
            user: visit.map(|visit| visit.user.email.clone()),
            is_admin: visit.is_some_and(|visit| visit.user.is_admin),
            project: None,
            mark: random_token(),
            tab: None,
        }
    }

    /// Of a page that belongs to no project.
    pub(crate) fn outside(dash: &Dash, who: &SignedIn, title: impl Into<String>) -> Self {
        Self::new(dash, Some(&who.asks), title)
    }

    /// Of a page of the project that the address names; `tab` is one of [`TABS`].
    pub(crate) fn inside(dash: &Dash, who: &InProject, tab: &'static str, title: impl Into<String>) -> Self {
        let project = Some((who.project.clone(), who.role));
        Self { project, tab: Some(tab), ..Self::new(dash, Some(&who.asks), title) }
    }

    /// The places that whoever looks may go to.
    pub(crate) fn tabs(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let is_owner = self.project.as_ref().is_some_and(|(_, role)| *role == Role::Owner);
        TABS.into_iter().filter(|(tab, ..)| is_owner || !matches!(*tab, "/keys" | "/settings")).collect()
    }

    pub(crate) fn is_here(&self, tab: &str) -> bool {
        self.tab == Some(tab)
    }
}
