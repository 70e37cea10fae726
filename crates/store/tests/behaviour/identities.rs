//! Whom a provider of sign-ins introduces.

use copydesk_domain::Role;
use copydesk_store::{
    DeedFilter, Entrance, Guest, Identity, Introduction, NewInvitation, NewSession, NewUser, Recognised, Taken,
};
use futures_util::future::join_all;

use crate::desk::{Desk, HOUR, new_project};

behaviours! {
    somebody_is_known_again_by_the_providers_word_for_them,
    an_address_joins_only_if_it_was_verified_and_is_free,
    nobody_is_made_unless_that_may_be,
    those_who_come_at_once_are_one_user,
    an_invitation_makes_a_user_whom_the_provider_knows,
    a_link_for_somebody_joins_an_identity_to_them,
    identities_go_with_their_user,
}

fn identity(subject: &str) -> Identity {
    Identity { issuer: "https://id.example.com".to_owned(), subject: subject.to_owned() }
}

fn newcomer(email: &str) -> NewUser {
    NewUser { email: email.to_owned(), name: "Ada".to_owned(), password: None, is_admin: false }
}

fn introduction(subject: &str, email: &str) -> Introduction {
    Introduction { identity: identity(subject), newcomer: Some(newcomer(email)), is_verified: true, may_be_made: true }
}

fn nobodys(desk: &Desk, digest: &str) -> NewSession {
    NewSession {
        digest: digest.to_owned(),
        user_id: String::new(),
        way: "oidc",
        client: String::new(),
        confirmed_at: Some(desk.now()),
        expires_at: desk.now().plus(HOUR),
    }
}

async fn invite(desk: &Desk, digest: &str, entrance: Entrance) {
    let expires_at = desk.now().plus(HOUR);
    let new = NewInvitation { digest: digest.to_owned(), entrance, note: "for Ada".to_owned(), expires_at };
    desk.store.invite(new).await.unwrap().unwrap();
}

async fn somebody_is_known_again_by_the_providers_word_for_them(desk: Desk) {
    let Recognised::User(ada) = desk.store.recognise(introduction("1", "ada@example.com")).await.unwrap() else {
        panic!("she was made")
    };
    assert!(!ada.is_admin);
    assert_eq!(desk.store.user_at("ada@example.com").await.unwrap().unwrap().1, None, "without a password");
    // Whatever else is said of her then.
    let moved = Introduction { newcomer: None, may_be_made: false, ..introduction("1", "") };
    assert_eq!(desk.store.recognise(moved).await.unwrap(), Recognised::User(ada.clone()));
    assert_eq!(desk.store.user_known_as(&identity("1")).await.unwrap(), Some(ada));
    // Another provider may call somebody else by the same word.
    let other = Identity { issuer: "https://other.example.com".to_owned(), ..identity("1") };
    assert_eq!(desk.store.user_known_as(&other).await.unwrap(), None);
    let deeds = desk.store.deeds(DeedFilter { limit: 10, ..DeedFilter::default() }).await.unwrap();
    let deeds: Vec<_> = deeds.iter().map(|deed| (deed.action.as_str(), deed.actor_name.as_str())).collect();
    assert_eq!(deeds, [("identity.add", "ada@example.com"), ("user.create", "ada@example.com")]);
}

async fn an_address_joins_only_if_it_was_verified_and_is_free(desk: Desk) {
    let ada = desk.store.create_user(newcomer("ada@example.com")).await.unwrap().unwrap();
    let unverified = Introduction { is_verified: false, ..introduction("1", "ada@example.com") };
    assert_eq!(desk.store.recognise(unverified).await.unwrap(), Recognised::AddressTaken);
    assert_eq!(desk.store.user_known_as(&identity("1")).await.unwrap(), None);
    let verified = Introduction { may_be_made: false, ..introduction("1", "ada@example.com") };
    assert_eq!(desk.store.recognise(verified).await.unwrap(), Recognised::User(ada));
    // An address that went to somebody else at the provider does not let them in as whom it once was.
    let heir = introduction("2", "ada@example.com");
    assert_eq!(desk.store.recognise(heir).await.unwrap(), Recognised::AddressTaken);
}

async fn nobody_is_made_unless_that_may_be(desk: Desk) {
    let unwanted = Introduction { may_be_made: false, ..introduction("1", "ada@example.com") };
    assert_eq!(desk.store.recognise(unwanted).await.unwrap(), Recognised::Nobody);
    let nameless = Introduction { newcomer: None, ..introduction("1", "") };
    assert_eq!(desk.store.recognise(nameless).await.unwrap(), Recognised::Nobody);
    assert!(!desk.store.has_users().await.unwrap());
    // Nobody becomes an administrator by being introduced.
    let mut bold = introduction("1", "ada@example.com");
    bold.newcomer = bold.newcomer.map(|new| NewUser { is_admin: true, ..new });
    let Recognised::User(user) = desk.store.recognise(bold).await.unwrap() else { panic!("she was made") };
    assert!(!user.is_admin);
}

async fn those_who_come_at_once_are_one_user(desk: Desk) {
    let coming = (0..8).map(|_| {
        let store = desk.store.clone();
        tokio::spawn(async move { store.recognise(introduction("1", "ada@example.com")).await.unwrap() })
    });
    let came: Vec<_> = join_all(coming).await.into_iter().map(Result::unwrap).collect();
    assert!(matches!(came[0], Recognised::User(_)), "{came:?}");
    assert!(came.iter().all(|one| *one == came[0]), "{came:?}");
}

async fn an_invitation_makes_a_user_whom_the_provider_knows(desk: Desk) {
    let project = desk.store.create_project(new_project("Docs")).await.unwrap().unwrap();
    desk.store.create_user(newcomer("bob@example.com")).await.unwrap().unwrap();
    invite(&desk, "i", Entrance::Member(project.id.clone(), Role::Editor)).await;
    // Not with the address of somebody else.
    let thief = Guest::Introduced(newcomer("bob@example.com"), identity("1"));
    let taken = desk.store.take_invitation("i", thief, nobodys(&desk, "s")).await.unwrap();
    assert!(matches!(taken, Taken::EmailTaken), "{taken:?}");
    assert_eq!(desk.store.user_known_as(&identity("1")).await.unwrap(), None);
    let guest = Guest::Introduced(newcomer("ada@example.com"), identity("1"));
    let taken = desk.store.take_invitation("i", guest, nobodys(&desk, "s")).await.unwrap();
    let Taken::In(ada, session) = taken else { panic!("{taken:?}") };
    assert_eq!(session.way, "oidc");
    assert_eq!(desk.store.user_known_as(&identity("1")).await.unwrap(), Some(*ada.clone()));
    assert_eq!(desk.store.members(&project.id).await.unwrap()[0].user, *ada);
}

async fn a_link_for_somebody_joins_an_identity_to_them(desk: Desk) {
    let ada = desk.store.create_user(newcomer("ada@example.com")).await.unwrap().unwrap();
    invite(&desk, "i", Entrance::Again(ada.id.clone())).await;
    let guest = Guest::Introduced(newcomer("other@example.com"), identity("1"));
    let taken = desk.store.take_invitation("i", guest, nobodys(&desk, "s")).await.unwrap();
    assert!(matches!(taken, Taken::In(..)), "{taken:?}");
    assert_eq!(desk.store.user_known_as(&identity("1")).await.unwrap(), Some(ada));
    assert!(desk.store.user_at("other@example.com").await.unwrap().is_none());
}

async fn identities_go_with_their_user(desk: Desk) {
    let Recognised::User(ada) = desk.store.recognise(introduction("1", "ada@example.com")).await.unwrap() else {
        panic!("she was made")
    };
    assert!(desk.store.remove_user(&ada.id).await.unwrap());
    assert_eq!(desk.store.user_known_as(&identity("1")).await.unwrap(), None);
}
