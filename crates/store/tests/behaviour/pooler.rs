//! What a pooler in front of PostgreSQL is asked for.

use std::io::Read;
use std::net::TcpListener;
use std::sync::Arc;

use copydesk_domain::SystemClock;
use copydesk_store::{DatabaseAddress, Store};

/// What PgBouncer takes of whoever connects. It refuses the connection for anything else, unless it is told to ignore it.
const TAKEN: [&str; 7] =
    ["user", "database", "application_name", "client_encoding", "DateStyle", "TimeZone", "standard_conforming_strings"];

#[tokio::test]
async fn a_pooler_is_asked_for_nothing_that_it_refuses() {
    let pooler = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("postgres://copydesk@{}/docs?sslmode=disable", pooler.local_addr().unwrap());
    let first_message = tokio::task::spawn_blocking(move || {
        let (mut client, _) = pooler.accept().unwrap();
        let mut length = [0; 4];
        client.read_exact(&mut length).unwrap();
        let mut message = vec![0; u32::from_be_bytes(length) as usize - 4];
        client.read_exact(&mut message).unwrap();
        // The version of the protocol, then names and values, each with a zero at its end.
        String::from_utf8(message.split_off(4)).unwrap()
    });
    let address = DatabaseAddress::Postgres { address, listen: None, connections: 3 };
    let opened = Store::open(&address, Arc::new(SystemClock)).await;
    let asked = first_message.await.unwrap();
    assert!(opened.is_err(), "the pooler has hung up");
    let asked: Vec<&str> = asked.trim_end_matches('\0').split('\0').step_by(2).collect();
    assert!(asked.contains(&"user") && asked.iter().all(|name| TAKEN.contains(name)), "{asked:?}");
}
