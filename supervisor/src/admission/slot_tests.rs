use super::*;
use crate::admission::Grant;
use std::task::Poll;

fn caller(name: &str, busy: Busy, concurrency: u16) -> Caller {
    let grant = Grant { busy, concurrency, wait_time: Duration::from_secs(10), wait_depth: 2, ..Grant::default() };
    Caller { name: Label::new(name).unwrap(), grant }
}

fn slots(total: usize) -> Arc<Slots> {
    Slots::new(total, 3, Duration::from_secs(5))
}

#[test]
fn a_second_job_is_told_busy_and_a_slot_comes_back_by_itself() {
    let slots = slots(1);
    let hermes = caller("hermes", Busy::Rpc, 9);
    let held = slots.take(&hermes).unwrap();
    let busy = slots.take(&caller("other", Busy::Http503, 9)).unwrap_err();
    assert_eq!(busy, Refusal::Busy { retry: Duration::from_secs(5), in_band: false });
    assert_eq!(slots.take(&hermes).unwrap_err(), Refusal::Busy { retry: Duration::from_secs(5), in_band: true });
    drop(held);
    assert_eq!(slots.counts(), (0, 0));
    assert!(slots.take(&hermes).is_ok());
}

#[test]
fn a_caller_never_has_more_than_its_own_bound() {
    let slots = slots(3);
    let one = caller("one", Busy::Http503, 1);
    let _held = slots.take(&one).unwrap();
    assert!(slots.take(&one).is_err());
    assert!(slots.take(&caller("two", Busy::Http503, 2)).is_ok());
    assert_eq!(slots.state().by_caller.len(), 1, "counts of callers without a slot are forgotten");
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_served_in_order_and_nobody_passes_the_row() {
    let slots = slots(1);
    let held = slots.take(&caller("a", Busy::Wait, 9)).unwrap();
    let (b, c) = (caller("b", Busy::Wait, 9), caller("c", Busy::Wait, 9));
    let mut first = Box::pin(slots.wait(&b));
    let mut second = Box::pin(slots.wait(&c));
    assert!(futures_util::poll!(&mut first).is_pending() && futures_util::poll!(&mut second).is_pending());
    assert_eq!(slots.counts(), (1, 2));
    drop(held);
    assert!(slots.take(&caller("d", Busy::Http503, 9)).is_err(), "the slot is on its way to the first of the row");
    assert!(futures_util::poll!(&mut second).is_pending());
    let Poll::Ready(Ok(slot)) = futures_util::poll!(&mut first) else { panic!("the first has it") };
    drop(slot);
    assert!(second.await.is_ok());
    assert_eq!(slots.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_wait_ends_after_its_time_and_the_place_in_the_row_is_free_again() {
    let slots = slots(1);
    let a = caller("a", Busy::Wait, 9);
    let _held = slots.take(&a).unwrap();
    let begun = tokio::time::Instant::now();
    assert!(matches!(slots.wait(&a).await, Err(Refusal::Busy { in_band: false, .. })));
    assert_eq!(begun.elapsed(), Duration::from_secs(10));
    assert_eq!(slots.counts(), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn the_row_is_bounded_for_each_caller_and_for_all() {
    let slots = slots(1);
    let (a, b) = (caller("a", Busy::Wait, 9), caller("b", Busy::Wait, 9));
    let _held = slots.take(&a).unwrap();
    let mut waiting: Vec<_> = [&a, &a, &b].into_iter().map(|caller| Box::pin(slots.wait(caller))).collect();
    for wait in &mut waiting {
        assert!(futures_util::poll!(wait).is_pending());
    }
    assert!(slots.wait(&a).await.is_err(), "two of its own wait already");
    assert!(slots.wait(&b).await.is_err(), "three wait already");
    waiting.clear();
    assert_eq!(slots.counts(), (1, 0));
    assert!(futures_util::poll!(Box::pin(slots.wait(&b))).is_pending(), "who left makes room");
}

#[tokio::test(start_paused = true)]
async fn a_slot_is_not_lost_on_somebody_who_left_the_row() {
    let slots = slots(1);
    let (a, b) = (caller("a", Busy::Wait, 9), caller("b", Busy::Wait, 9));
    let held = slots.take(&a).unwrap();
    let mut leaver = Box::pin(slots.wait(&a));
    let mut next = Box::pin(slots.wait(&b));
    assert!(futures_util::poll!(&mut leaver).is_pending() && futures_util::poll!(&mut next).is_pending());
    drop(leaver);
    drop(held);
    assert!(next.await.is_ok());
    // Also when it leaves between being served and taking it.
    let held = slots.take(&a).unwrap();
    let mut leaver = Box::pin(slots.wait(&a));
    assert!(futures_util::poll!(&mut leaver).is_pending());
    drop(held);
    drop(leaver);
    assert_eq!(slots.counts(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn who_is_over_its_own_bound_does_not_hold_up_the_row() {
    let slots = slots(2);
    let (one, other) = (caller("one", Busy::Wait, 1), caller("other", Busy::Wait, 9));
    let own = slots.take(&one).unwrap();
    let others = slots.take(&other).unwrap();
    let mut stuck = Box::pin(slots.wait(&one));
    let mut free = Box::pin(slots.wait(&other));
    assert!(futures_util::poll!(&mut stuck).is_pending() && futures_util::poll!(&mut free).is_pending());
    drop(others);
    assert!(futures_util::poll!(&mut stuck).is_pending());
    assert!(futures_util::poll!(&mut free).is_ready());
    drop(own);
    assert!(stuck.await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn more_slots_are_handed_out_at_once_and_fewer_take_none_away() {
    let slots = slots(1);
    let a = caller("a", Busy::Wait, 9);
    let held = slots.take(&a).unwrap();
    let mut waiting = Box::pin(slots.wait(&a));
    assert!(futures_util::poll!(&mut waiting).is_pending());
    slots.set_total(2);
    let other = waiting.await.unwrap();
    slots.set_total(0);
    assert_eq!(slots.counts(), (2, 0));
    drop((held, other));
    assert!(slots.take(&a).is_err(), "none are left");
}
