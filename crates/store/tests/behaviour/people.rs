//! People: who they are, how they get in, what they may do, and that everything done is written down.

use copydesk_domain::{Actor, ActorKind, ProjectId, Role, Scope, User};
use copydesk_store::{
    DeedFilter, Entrance, Guest, Indispensable, NewInvitation, NewKey, NewSession, NewUser, Store, Taken,
};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, MILLISECOND, new_project};

behaviours! {
    an_address_belongs_to_one_user,
    a_session_shows_whose_it_is_and_what_they_see,
    a_session_ends_when_its_time_is_up_or_somebody_ends_it,
    another_password_ends_the_other_sessions,
    an_invitation_lets_one_in_and_once,
    an_invitation_that_cannot_be_taken_stays,
    an_invitation_takes_nothing_away,
    the_last_administrator_and_the_last_owner_stay,
    two_administrators_who_remove_each_other_do_not_both_go,
    deeds_are_written_with_who_did_them,
    a_deed_that_did_not_happen_is_not_written,
    projects_are_those_of_the_user,
    a_form_is_taken_once,
}

async fn user(store: &Store, email: &str, is_admin: bool) -> User {
    let new = NewUser { email: email.to_owned(), name: "Ada".to_owned(), password: Some("hash".to_owned()), is_admin };
    store.create_user(new).await.unwrap().unwrap()
}

fn session(desk: &Desk, digest: &str, user: &User) -> NewSession {
    NewSession {
        digest: digest.to_owned(),
        user_id: user.id.clone(),
        way: "password",
        client: "Firefox on Linux".to_owned(),
        confirmed_at: None,
        expires_at: desk.now().plus(HOUR),
    }
}

fn nobodys(desk: &Desk, digest: &str) -> NewSession {
    let expires_at = desk.now().plus(HOUR);
    let (digest, way) = (digest.to_owned(), "link");
    NewSession { digest, user_id: String::new(), way, client: String::new(), confirmed_at: None, expires_at }
}

async fn invite(desk: &Desk, digest: &str, entrance: Entrance) {
    let expires_at = desk.now().plus(HOUR);
    let new = NewInvitation { digest: digest.to_owned(), entrance, note: "for Bob".to_owned(), expires_at };
    desk.store.invite(new).await.unwrap().unwrap();
}

fn guest(email: &str) -> Guest {
    let password = Some("hash".to_owned());
    Guest::New(NewUser { email: email.to_owned(), name: "Bob".to_owned(), password, is_admin: false })
}

async fn role(store: &Store, project: &ProjectId, user: &User) -> Option<Role> {
    let members = store.members(project).await.unwrap();
    members.into_iter().find(|member| member.user.id == user.id).map(|member| member.role)
}

async fn an_address_belongs_to_one_user(desk: Desk) {
    let ada = user(&desk.store, "ada@example.com", true).await;
    let again = NewUser { email: ada.email.clone(), name: "Eve".to_owned(), password: None, is_admin: true };
    assert!(desk.store.create_user(again).await.unwrap().is_none());
    assert_eq!(desk.store.users().await.unwrap(), std::slice::from_ref(&ada));
    assert_eq!(desk.store.user_at(&ada.email).await.unwrap(), Some((ada, Some("hash".to_owned()))));
    assert_eq!(desk.store.user_at("eve@example.com").await.unwrap(), None);
}

async fn a_session_shows_whose_it_is_and_what_they_see(desk: Desk) {
    let (mine, other) = (desk.project("Mine").await, desk.project("Other").await);
    let (ada, bob) =
        (user(&desk.store, "ada@example.com", true).await, user(&desk.store, "bob@example.com", false).await);
    desk.store.set_member(&mine, &bob.id, Role::Editor).await.unwrap().unwrap();
    desk.store.begin_session(session(&desk, "a", &ada)).await.unwrap();
    desk.store.begin_session(session(&desk, "b", &bob)).await.unwrap();
    for (digest, user, project, wanted) in [
        ("a", &ada, Some(&mine), Some(Role::Owner)),
        ("a", &ada, Some(&other), Some(Role::Owner)),
        ("b", &bob, Some(&mine), Some(Role::Editor)),
        ("b", &bob, Some(&other), None),
        ("b", &bob, Some(&ProjectId::from("nobody")), None),
        ("a", &ada, Some(&ProjectId::from("nobody")), None),
        ("b", &bob, None, None),
    ] {
        let visit = desk.beside().await.visit(digest, project).await.unwrap().unwrap();
        assert_eq!(visit.user, *user);
        assert_eq!(visit.project.as_ref().map(|(_, role)| *role), wanted, "{digest} {project:?}");
        if wanted.is_some() {
            assert_eq!(visit.project.as_ref().map(|(project, _)| &project.id), project);
        }
    }
    assert!(desk.store.visit("c", Some(&mine)).await.unwrap().is_none());
}

async fn a_session_ends_when_its_time_is_up_or_somebody_ends_it(desk: Desk) {
    let ada = user(&desk.store, "ada@example.com", true).await;
    let first = desk.store.begin_session(session(&desk, "a", &ada)).await.unwrap();
    let second = desk.store.begin_session(session(&desk, "b", &ada)).await.unwrap();
    assert_eq!(desk.store.sessions(&ada.id).await.unwrap().len(), 2);
    assert!(!desk.store.end_session("somebody else", &first.id).await.unwrap());
    assert!(desk.store.end_session(&ada.id, &first.id).await.unwrap());
    assert!(desk.beside().await.visit("a", None).await.unwrap().is_none());
    desk.store.touch_session(&second.id, desk.now().plus(HOUR * 2)).await.unwrap();
    desk.advance(HOUR * 2 - MILLISECOND);
    assert!(desk.store.visit("b", None).await.unwrap().is_some());
    desk.advance(MILLISECOND);
    assert!(desk.store.visit("b", None).await.unwrap().is_none());
    assert!(desk.store.purge().await.unwrap() >= 1);
    assert_eq!(desk.store.end_sessions(&ada.id).await.unwrap(), 0, "nothing is left of it");
}

async fn another_password_ends_the_other_sessions(desk: Desk) {
    let ada = user(&desk.store, "ada@example.com", true).await;
    let kept = desk.store.begin_session(session(&desk, "a", &ada)).await.unwrap();
    desk.store.begin_session(session(&desk, "b", &ada)).await.unwrap();
    invite(&desk, "link", Entrance::Again(ada.id.clone())).await;
    desk.store.set_password(&ada.id, "other", Some(&kept.id)).await.unwrap().unwrap();
    assert_eq!(desk.store.sessions(&ada.id).await.unwrap(), [kept]);
    assert!(desk.store.invitation("link").await.unwrap().is_none(), "an old link is a way in as well");
    assert_eq!(desk.store.user_at(&ada.email).await.unwrap().unwrap().1.as_deref(), Some("other"));
}

async fn an_invitation_lets_one_in_and_once(desk: Desk) {
    let project = desk.project("Docs").await;
    invite(&desk, "link", Entrance::Member(project.clone(), Role::Editor)).await;
    assert_eq!(desk.store.invitations(Some(&project)).await.unwrap().len(), 1);
    let stores = desk.several_beside(4).await;
    let takers = stores.iter().enumerate().map(|(at, store)| {
        let (email, digest) = (format!("{at}@example.com"), format!("session {at}"));
        let session = nobodys(&desk, &digest);
        async move { store.take_invitation("link", guest(&email), session).await.unwrap() }
    });
    let taken = join_all(takers).await;
    let inside: Vec<_> = taken.iter().filter(|taken| matches!(taken, Taken::In(..))).collect();
    assert_eq!(inside.len(), 1, "{taken:?}");
    let users = desk.store.users().await.unwrap();
    assert_eq!(users.len(), 1, "nobody is left behind by those who came too late");
    assert!(!users[0].is_admin);
    assert_eq!(role(&desk.store, &project, &users[0]).await, Some(Role::Editor));
    assert_eq!(desk.store.sessions(&users[0].id).await.unwrap().len(), 1);
    assert_eq!(desk.store.invitations(Some(&project)).await.unwrap(), []);

    invite(&desk, "late", Entrance::Administrator).await;
    desk.advance(HOUR);
    let late = desk.store.take_invitation("late", guest("late@example.com"), nobodys(&desk, "late")).await.unwrap();
    assert!(matches!(late, Taken::Gone));
}

async fn an_invitation_that_cannot_be_taken_stays(desk: Desk) {
    let ada = user(&desk.store, "ada@example.com", false).await;
    invite(&desk, "link", Entrance::Administrator).await;
    let taken = desk.store.take_invitation("link", guest(&ada.email), nobodys(&desk, "a")).await.unwrap();
    assert!(matches!(taken, Taken::EmailTaken));
    // It is for somebody new or for somebody who is here, not for a change of password.
    let named = Guest::Named(Some("hash".to_owned()));
    assert!(matches!(desk.store.take_invitation("link", named, nobodys(&desk, "a")).await.unwrap(), Taken::Gone));
    assert!(desk.store.visit("a", None).await.unwrap().is_none());
    let known = Guest::Known(ada.id.clone());
    let taken = desk.store.take_invitation("link", known, nobodys(&desk, "a")).await.unwrap();
    assert!(matches!(taken, Taken::In(user, _) if user.is_admin && user.id == ada.id));

    let withdrawn = desk.project("Docs").await;
    invite(&desk, "other", Entrance::Member(withdrawn.clone(), Role::Viewer)).await;
    let id = desk.store.invitation("other").await.unwrap().unwrap().id;
    assert!(!desk.store.withdraw(None, &id).await.unwrap(), "it is the project's");
    assert!(desk.store.withdraw(Some(&withdrawn), &id).await.unwrap());
    assert!(desk.store.invitation("other").await.unwrap().is_none());
}

async fn an_invitation_takes_nothing_away(desk: Desk) {
    let project = desk.project("Docs").await;
    let ada = user(&desk.store, "ada@example.com", false).await;
    desk.store.set_member(&project, &ada.id, Role::Owner).await.unwrap().unwrap();
    invite(&desk, "link", Entrance::Member(project.clone(), Role::Viewer)).await;
    let known = Guest::Known(ada.id.clone());
    desk.store.take_invitation("link", known, nobodys(&desk, "a")).await.unwrap();
    assert_eq!(role(&desk.store, &project, &ada).await, Some(Role::Owner));
}

async fn the_last_administrator_and_the_last_owner_stay(desk: Desk) {
    let project = desk.project("Docs").await;
    let ada = user(&desk.store, "ada@example.com", true).await;
    assert_eq!(desk.store.remove_user(&ada.id).await, Err(Indispensable::LastAdmin));
    assert_eq!(desk.store.set_admin(&ada.id, false).await, Err(Indispensable::LastAdmin));
    let bob = user(&desk.store, "bob@example.com", false).await;
    desk.store.set_member(&project, &bob.id, Role::Owner).await.unwrap().unwrap();
    assert_eq!(desk.store.set_member(&project, &bob.id, Role::Editor).await, Err(Indispensable::LastOwner));
    assert_eq!(desk.store.remove_member(&project, &bob.id).await, Err(Indispensable::LastOwner));
    assert_eq!(desk.store.remove_user(&bob.id).await, Err(Indispensable::LastOwner));
    desk.store.set_member(&project, &ada.id, Role::Owner).await.unwrap().unwrap();
    assert_eq!(desk.store.remove_member(&project, &bob.id).await, Ok(true));
    assert_eq!(desk.store.remove_member(&project, &bob.id).await, Ok(false));
    assert_eq!(desk.store.remove_user(&bob.id).await, Ok(true));
    assert_eq!(desk.store.remove_user(&bob.id).await, Ok(false));
}

async fn two_administrators_who_remove_each_other_do_not_both_go(desk: Desk) {
    let mut last = user(&desk.store, "first@example.com", true).await;
    for round in 0..5 {
        let other = user(&desk.store, &format!("{round}@example.com"), true).await;
        let (one, two) = (desk.beside().await, desk.beside().await);
        let (first, second) = tokio::join!(one.remove_user(&last.id), two.remove_user(&other.id));
        let mut left = desk.store.users().await.unwrap();
        assert_eq!(left.len(), 1, "{first:?} {second:?}");
        last = left.remove(0);
    }
}

async fn deeds_are_written_with_who_did_them(desk: Desk) {
    let ada = user(&desk.store, "ada@example.com", true).await;
    let hers = desk.store.by(Actor::user(&ada));
    let project = hers.create_project(new_project("Docs")).await.unwrap().unwrap().id;
    let key = NewKey { project_id: Some(project.clone()), name: "CI".to_owned(), scope: Scope::Read, expires_at: None };
    let (key, _) = hers.create_key(key).await.unwrap().unwrap();
    let by_key = desk.store.by(Actor::key(&key.id, &key.name));
    let job = crate::desk::create(&by_key, &project).await;
    assert_eq!(desk.job(&project, &job).await.made_by.as_deref(), Some("the key CI"));
    let at_command = desk.store.by(Actor::command("root"));
    at_command.revoke_key(&key.id).await.unwrap().unwrap();
    at_command.revoke_key(&key.id).await.unwrap().unwrap();
    at_command.delete_project(&project).await.unwrap();

    let filter = DeedFilter { project_id: Some(project.clone()), before: None, limit: 100 };
    let deeds = desk.store.deeds(filter).await.unwrap();
    let told: Vec<_> =
        deeds.iter().map(|deed| (deed.action.as_str(), deed.actor_kind, deed.actor_name.as_str())).collect();
    assert_eq!(
        told,
        [
            ("project.delete", ActorKind::Command, "root"),
            ("key.revoke", ActorKind::Command, "root"),
            ("job.create", ActorKind::Key, "CI"),
            ("key.create", ActorKind::User, "ada@example.com"),
            ("project.create", ActorKind::User, "ada@example.com"),
        ]
    );
    assert_eq!(deeds[2].actor_id.as_ref(), Some(&key.id));
    let all = desk.store.deeds(DeedFilter { limit: 2, ..DeedFilter::default() }).await.unwrap();
    assert_eq!(all, deeds[..2]);
    let next = DeedFilter { before: Some(all[1].id.clone()), limit: 1, ..DeedFilter::default() };
    assert_eq!(desk.store.deeds(next).await.unwrap(), deeds[2..3]);
}

async fn a_deed_that_did_not_happen_is_not_written(desk: Desk) {
    let nobody = ProjectId::from("nobody");
    let key = NewKey { project_id: Some(nobody.clone()), name: "x".to_owned(), scope: Scope::Read, expires_at: None };
    assert!(desk.store.create_key(key).await.unwrap().is_none());
    assert!(!desk.store.delete_project(&nobody).await.unwrap());
    assert!(desk.store.revoke_key("nobody").await.unwrap().is_none());
    assert!(!desk.store.remove_webhook("nobody").await.unwrap());
    assert!(!desk.store.remove_user("nobody").await.unwrap());
    assert!(desk.store.set_member(&nobody, "nobody", Role::Owner).await.unwrap().is_none());
    assert_eq!(desk.store.deeds(DeedFilter { limit: 10, ..DeedFilter::default() }).await.unwrap(), []);
}

async fn projects_are_those_of_the_user(desk: Desk) {
    let (one, two) = (desk.project("beta").await, desk.project("Alpha").await);
    let (ada, bob) =
        (user(&desk.store, "ada@example.com", true).await, user(&desk.store, "bob@example.com", false).await);
    let ids = |projects: Vec<(copydesk_domain::Project, Role)>| -> Vec<_> {
        projects.into_iter().map(|(project, role)| (project.id, role)).collect()
    };
    assert_eq!(
        ids(desk.store.projects_of(&ada).await.unwrap()),
        [(two.clone(), Role::Owner), (one.clone(), Role::Owner)]
    );
    assert_eq!(ids(desk.store.projects_of(&bob).await.unwrap()), []);
    desk.store.set_member(&one, &bob.id, Role::Viewer).await.unwrap().unwrap();
    desk.store.set_member(&two, &bob.id, Role::Editor).await.unwrap().unwrap();
    assert_eq!(ids(desk.store.projects_of(&bob).await.unwrap()), [(two, Role::Editor), (one, Role::Viewer)]);
}

async fn a_form_is_taken_once(desk: Desk) {
    let stores = desk.several_beside(4).await;
    let taken = join_all(stores.iter().map(|store| store.take_mark("one"))).await;
    assert_eq!(taken.into_iter().filter(|taken| *taken == Ok(true)).count(), 1);
    assert_eq!(desk.store.take_mark("two").await, Ok(true));
    desk.advance(HOUR * 24 * 7);
    desk.store.purge().await.unwrap();
    assert_eq!(desk.store.take_mark("one").await, Ok(true), "long forgotten");
}
