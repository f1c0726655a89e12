//! Programs that do not want to be ended. Each says `up` once its processes stand.

use musegate_sandbox_profiles::fork::{Namespaces, SingleThreaded, fork};
use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getppid, setsid};
use std::io::{PipeReader, PipeWriter, Read, Write};
use std::time::{Duration, Instant};

/// How many stand where they are meant to.
struct Muster(PipeReader, PipeWriter);

impl Muster {
    fn stand(&self) {
        (&self.1).write_all(b".").unwrap();
    }

    fn await_all(&self, most: usize) {
        (&self.0).read_exact(&mut vec![0; most]).unwrap();
    }
}

/// Becomes one of them.
pub(crate) fn run(shape: &str) {
    let alone = SingleThreaded::prove().unwrap();
    let (read, write) = std::io::pipe().unwrap();
    let muster = Muster(read, write);
    let stand_and_stay = |_: &SingleThreaded| {
        muster.stand();
        stay();
    };
    let leave_and_stay = |_: &SingleThreaded| {
        let _ = setsid();
        muster.stand();
        stay();
    };
    let most = match shape {
        "simple" => 0,
        "children" => three(|| child(&alone, stand_and_stay)),
        "setsid" => three(|| child(&alone, leave_and_stay)),
        "daemon" => three(|| child(&alone, |alone| child(alone, leave_and_stay))),
        "exit-orphan" => one(|| child(&alone, leave_and_stay)),
        "slow-runner" => one(|| child(&alone, |alone| run_away(alone, &muster, Duration::from_millis(2)))),
        "fast-runner" => one(|| child(&alone, |alone| run_away(alone, &muster, Duration::ZERO))),
        "assassin" => assassinate_once(),
        "deaf" => ignore_term(),
        "stopped" => one(|| child(&alone, |_| stop(&muster))),
        other => panic_on(other),
    };
    muster.await_all(most);
    println!("up");
    match shape {
        "exit-orphan" => {}
        "stopped" => stop(&muster),
        "assassin" => assassinate(),
        _ => stay(),
    }
}

fn three(act: impl Fn()) -> usize {
    (0..3).for_each(|_| act());
    3
}

fn one(act: impl Fn()) -> usize {
    act();
    1
}

fn panic_on(shape: &str) -> usize {
    let _ = writeln!(std::io::stderr(), "no such shape: {shape}");
    std::process::exit(64);
}

fn child(alone: &SingleThreaded, act: impl FnOnce(&SingleThreaded)) {
    let forked = fork(alone, Namespaces::default(), |alone| {
        act(alone);
        0
    });
    forked.unwrap();
}

fn stay() {
    loop {
        nix::unistd::pause();
    }
}

fn stop(muster: &Muster) {
    muster.stand();
    loop {
        let _ = kill(nix::unistd::getpid(), Signal::SIGSTOP);
    }
}

fn ignore_term() -> usize {
    use musegate_sandbox_profiles::signals::{Fate, set};
    set(Signal::SIGTERM, Fate::Ignore).unwrap();
    0
}

/// Never the same process for long: forks, and only the child goes on. Ends by itself after a minute, should all fail.
fn run_away(alone: &SingleThreaded, muster: &Muster, pause: Duration) {
    let _ = setsid();
    muster.stand();
    run_on(alone, pause, Instant::now() + Duration::from_secs(60));
}

fn run_on(alone: &SingleThreaded, pause: Duration, until: Instant) {
    while Instant::now() < until {
        let _ = setsid();
        std::thread::sleep(pause);
        let forked = fork(alone, Namespaces::default(), |alone| {
            run_on(alone, pause, until);
            0
        });
        if forked.is_ok() {
            return;
        }
    }
}

/// Tries to end whoever could end it.
fn assassinate_once() -> usize {
    let victims = [getppid(), Pid::from_raw(1), Pid::from_raw(-1)];
    for victim in victims {
        for signal in [Signal::SIGKILL, Signal::SIGSTOP, Signal::SIGTERM] {
            let _ = kill(victim, signal);
        }
    }
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let number: Option<i32> = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(number) = number.filter(|number| *number != nix::unistd::getpid().as_raw()) {
            let _ = kill(Pid::from_raw(number), Signal::SIGKILL);
        }
    }
    0
}

fn assassinate() {
    loop {
        assassinate_once();
        std::thread::sleep(Duration::from_millis(1));
    }
}
