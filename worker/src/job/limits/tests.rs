use super::*;
use crate::config::Config;
use std::path::Path;

const START: Duration = Duration::from_secs(1000);

fn limits() -> Limits {
    let text = "[limits]\nfirst_line = 30\nidle = 60\nwall = 600\nwall_asleep = 3600\nprovider_retries = 2\nprovider_retry_time = 100\n";
    Config::parse(Path::new("t"), text).unwrap().limits
}

/// So many seconds after the start, of which the machine slept the last `asleep`.
fn at(seconds: u64, asleep: u64) -> Stamp {
    let wall = START + Duration::from_secs(seconds);
    Stamp { awake: wall - Duration::from_secs(asleep), wall }
}

fn watch() -> Watch {
    Watch::new(limits(), at(0, 0))
}

fn attempt(http_status: u64, kind: &'static str) -> Attempt<'static> {
    Attempt { attempt: 1, of: 10, kind: kind.into(), http_status }
}

#[test]
fn silence_before_and_after_the_first_line_has_its_own_bound() {
    let mut watch = watch();
    assert_eq!(watch.check(at(29, 0)), Ok(()));
    assert_eq!(watch.check(at(30, 0)), Err(Breach::FirstLine));
    watch.line(at(29, 0));
    assert_eq!(watch.check(at(88, 0)), Ok(()));
    assert_eq!(watch.check(at(89, 0)), Err(Breach::Idle));
    watch.line(at(88, 0));
    assert_eq!(watch.check(at(147, 0)), Ok(()));
}

#[test]
fn silence_does_not_count_while_a_tool_runs() {
    let mut watch = watch();
    watch.tools(1, at(1, 0));
    assert_eq!(watch.check(at(500, 0)), Ok(()));
    watch.tools(0, at(500, 0));
    assert_eq!(watch.check(at(559, 0)), Ok(()));
    assert_eq!(watch.check(at(560, 0)), Err(Breach::Idle));
}

#[test]
fn silence_does_not_count_while_nobody_reads_but_the_wall_clock_does() {
    let mut watch = watch();
    watch.line(at(1, 0));
    watch.held(true, at(2, 0));
    assert_eq!(watch.check(at(599, 0)), Ok(()));
    assert_eq!(watch.check(at(600, 0)), Err(Breach::Wall));
    watch.held(false, at(300, 0));
    assert_eq!(watch.check(at(360, 0)), Err(Breach::Idle));
}

#[test]
fn a_nap_does_not_use_up_the_job_and_is_told_once() {
    let mut watch = watch();
    watch.line(at(10, 0));
    assert_eq!(watch.slept(at(10, 0)), None);
    assert_eq!(watch.check(at(2000, 1960)), Ok(()), "only 40 seconds awake");
    assert_eq!(watch.slept(at(2000, 1960)), Some(1960));
    assert_eq!(watch.slept(at(2001, 1960)), None);
    assert_eq!(watch.slept(at(2011, 1970)), Some(10));
    assert_eq!(watch.check(at(3600, 3550)), Err(Breach::WallAsleep));
    let timing = watch.timing(at(2000, 1960));
    assert_eq!((timing.first_line_ms, timing.wall_ms, timing.awake_ms), (10_000, 2_000_000, 40_000));
}

#[test]
fn retries_in_a_row_are_bounded_by_number_and_by_time() {
    let mut watch = watch();
    let busy = attempt(429, "rate_limited");
    assert_eq!(watch.attempt(&busy, at(1, 0)), Ok(()));
    assert_eq!(watch.attempt(&busy, at(2, 0)), Ok(()));
    assert_eq!(watch.attempt(&busy, at(3, 0)), Err(Breach::Retries { http_status: 429 }));

    let mut watch = self::watch();
    for second in 1..20 {
        assert_eq!(watch.attempt(&busy, at(second, 0)), Ok(()));
        assert_eq!(watch.attempt(&attempt(0, "stream_succeeded"), at(second, 0)), Ok(()));
        assert_eq!(watch.attempt(&busy, at(second, 0)), Ok(()));
        watch.answered();
    }

    let mut watch = self::watch();
    watch.attempt(&attempt(503, "overloaded"), at(1, 0)).unwrap();
    for second in (10..101).step_by(10) {
        watch.line(at(second, 0));
    }
    assert_eq!(watch.check(at(100, 0)), Ok(()));
    assert_eq!(watch.check(at(101, 0)), Err(Breach::Retries { http_status: 503 }));
}

#[test]
fn a_refusal_that_repetition_does_not_change_ends_at_once() {
    for status in [401, 402, 403] {
        let refused = watch().attempt(&attempt(status, "billing_error"), at(1, 0));
        assert_eq!(refused, Err(Breach::Retries { http_status: u16::try_from(status).unwrap() }));
    }
}

#[test]
fn a_run_that_is_done_may_linger_only_shortly() {
    let mut watch = watch();
    watch.line(at(5, 0));
    watch.terminal(at(5, 0));
    assert_eq!(watch.check(at(14, 0)), Ok(()));
    watch.line(at(14, 0));
    assert_eq!(watch.check(at(15, 0)), Err(Breach::Lingers), "chatter after the end does not prolong it");
}

#[test]
fn streams_are_bounded_in_bytes() {
    let mut watch = watch();
    assert_eq!(watch.stderr(4 << 20), Ok(()));
    assert_eq!(watch.stderr(1), Err(Breach::Stderr));
    assert_eq!(watch.stdout(1 << 30), Ok(()));
    assert_eq!(watch.stdout(1), Err(Breach::Stdout));
}

#[test]
fn the_pause_ends_when_the_next_bound_breaks_and_never_later() {
    let mut watch = watch();
    assert_eq!(watch.pause(at(0, 0)), LOOK);
    assert_eq!(watch.pause(at(28, 0)), Duration::from_secs(2));
    watch.line(at(29, 0));
    assert_eq!(watch.pause(at(87, 0)), Duration::from_secs(2));
    watch.held(true, at(87, 0));
    assert_eq!(watch.pause(at(3599, 3400)), Duration::from_secs(1), "of the clock that does not sleep");
    watch.held(false, at(87, 0));
    for second in 0..700 {
        let now = at(second, 0);
        let due = watch.check(now).is_err();
        assert_eq!(due, watch.pause(now).is_zero(), "at {second}");
    }
}

#[test]
fn the_clocks_of_this_machine_go_forward() {
    let (a, b) = (Stamp::now(), Stamp::now());
    assert!(a.awake > Duration::ZERO && b.awake >= a.awake && b.wall >= a.wall);
}
