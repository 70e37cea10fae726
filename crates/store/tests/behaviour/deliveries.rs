//! Deliveries as people look at them, send them again and forget them.

use copydesk_store::{After, Backlog, Change, DeliveryFilter};
use copydesk_testbase::PATIENCE;

use crate::desk::{Desk, MILLISECOND, SECOND};
use crate::outbox::fan_out;
use crate::raw;
use crate::webhooks::{DAY, HOLD, deliveries, hook, one_delivery, record, take, take_one};

behaviours! {
    redelivery_hastens_what_waits_and_repeats_what_is_done,
    failed_deliveries_can_be_listed_alone_and_pages_fit_together,
    the_backlog_is_what_waits_for_those_who_listen,
    the_sweeper_forgets_old_deliveries_and_secrets,
    the_sweeper_keeps_so_many_of_one_webhook,
    whoever_delivers_is_told,
}

async fn redelivery_hastens_what_waits_and_repeats_what_is_done(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    record(&desk, &tried, 500, After::Again(desk.now().plus(DAY))).await;
    let hastened = desk.store.redeliver(&tried.id).await.unwrap().unwrap();
    assert_eq!((&hastened.id, hastened.next_try_at), (&tried.id, Some(desk.now())));
    let tried = take_one(&desk, &hook).await;
    let done = record(&desk, &tried, 200, After::Delivered).await;
    desk.advance(SECOND);
    let again = desk.store.redeliver(&done.id).await.unwrap().unwrap();
    assert_ne!(again.id, done.id);
    assert_eq!((&again.event_id, &again.payload, &again.kind), (&done.event_id, &done.payload, &done.kind));
    assert_eq!((again.tries, again.next_try_at, again.delivered_at), (0, Some(desk.now()), None));
    assert_eq!(deliveries(&desk, &hook).await, [again, done], "what was is still to be seen");
    assert_eq!(desk.store.redeliver("nothing").await.unwrap(), None);
}

async fn failed_deliveries_can_be_listed_alone_and_pages_fit_together(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    for _ in 0..6 {
        desk.create(&project).await;
    }
    fan_out(&desk.store).await;
    let all = deliveries(&desk, &hook).await;
    let due = desk.store.take_deliveries(&hook, 3, HOLD).await.unwrap();
    record(&desk, &due[0].delivery, 200, After::Delivered).await;
    record(&desk, &due[1].delivery, 500, After::GiveUp).await;
    record(&desk, &due[2].delivery, 500, After::Again(desk.now())).await;
    let failed = DeliveryFilter { failed: true, limit: 10, before: None };
    let failed: Vec<_> = desk.store.deliveries(&hook, failed).await.unwrap().into_iter().map(|it| it.id).collect();
    assert_eq!(failed, [due[2].delivery.id.clone(), due[1].delivery.id.clone()]);
    let (mut paged, mut before) = (Vec::new(), None);
    for wanted in [4, 2, 0] {
        let page = DeliveryFilter { failed: false, before: before.clone(), limit: 4 };
        let page = desk.store.deliveries(&hook, page).await.unwrap();
        assert_eq!(page.len(), wanted);
        paged.extend(page.into_iter().map(|it| it.id));
        before = paged.last().cloned();
    }
    assert_eq!(paged, all.into_iter().map(|it| it.id).collect::<Vec<_>>());
}

async fn the_backlog_is_what_waits_for_those_who_listen(desk: Desk) {
    let project = desk.project("Docs").await;
    let backlog = async || desk.store.delivery_backlog().await.unwrap();
    assert_eq!(backlog().await, Backlog::default());
    let (one, other) = (hook(&desk, &project).await, hook(&desk, &project).await);
    let first = desk.now();
    desk.create(&project).await;
    desk.advance(SECOND);
    assert_eq!(backlog().await, Backlog { waiting: 1, oldest: Some(first) });
    fan_out(&desk.store).await;
    desk.advance(SECOND);
    desk.create(&project).await;
    assert_eq!(backlog().await, Backlog { waiting: 3, oldest: Some(first.plus(SECOND)) });
    desk.store.pause_webhook(&other, "Not now.").await.unwrap();
    fan_out(&desk.store).await;
    assert_eq!(backlog().await.waiting, 2);
    for due in take(&desk, &one).await {
        record(&desk, &due.delivery, 200, After::Delivered).await;
    }
    assert_eq!(backlog().await, Backlog::default());
}

async fn the_sweeper_forgets_old_deliveries_and_secrets(desk: Desk) {
    let (project, hook) = one_delivery(&desk).await;
    let tried = take_one(&desk, &hook).await;
    record(&desk, &tried, 200, After::Delivered).await;
    desk.store.rotate_webhook(&desk.vault, &hook, b"second", desk.now().plus(DAY)).await.unwrap();
    desk.advance(SECOND);
    desk.create(&project).await;
    fan_out(&desk.store).await;
    desk.advance(DAY - SECOND);
    assert_eq!(desk.store.purge().await.unwrap(), 1, "a secret");
    desk.advance(DAY * 29 - MILLISECOND);
    assert_eq!(desk.store.purge().await.unwrap(), 0);
    desk.advance(MILLISECOND);
    assert_eq!(desk.store.purge().await.unwrap(), 1);
    assert_eq!(deliveries(&desk, &hook).await.len(), 1);
    assert_eq!(raw::number(desk.db.address(), "SELECT count(*) FROM secrets").await, 1);
}

async fn the_sweeper_keeps_so_many_of_one_webhook(desk: Desk) {
    let (_, hook) = one_delivery(&desk).await;
    let waiting = deliveries(&desk, &hook).await.remove(0);
    // Younger than the one that waits, and done with.
    let many = format!(
        "INSERT INTO webhook_deliveries (id, endpoint_id, event_id, kind, payload, created_at, tries, delivered_at) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 12500) \
         SELECT 'f' || CAST(100000 + i AS TEXT), '{hook}', 'e', 'job.created', 'x', {now}, 1, {now} FROM n",
        now = desk.now().as_millis()
    );
    desk.db.execute(&many).await;
    assert_eq!(desk.store.purge().await.unwrap(), 2500);
    assert_eq!(desk.store.purge().await.unwrap(), 0);
    assert!(desk.store.delivery(&waiting.id).await.unwrap().is_some(), "what waits is not forgotten");
    assert!(desk.store.delivery("f102500").await.unwrap().is_none());
    assert!(desk.store.delivery("f102501").await.unwrap().is_some());
}

async fn whoever_delivers_is_told(desk: Desk) {
    let project = desk.project("Docs").await;
    let hook = hook(&desk, &project).await;
    let mut changes = desk.store.changes();
    let mut told = async || {
        let wait = changes.wait_for(|change| *change == Change::Outbox);
        tokio::time::timeout(PATIENCE, wait).await.expect("nobody told");
    };
    let job = desk.create(&project).await;
    told().await;
    desk.store.archive_job(&project, &job).await.unwrap();
    told().await;
    fan_out(&desk.store).await;
    let waiting = deliveries(&desk, &hook).await.remove(0);
    desk.store.redeliver(&waiting.id).await.unwrap();
    told().await;
    desk.store.resume_webhook(&hook).await.unwrap();
    told().await;
}
