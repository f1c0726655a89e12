//! The programs of the kill tests: the hostile one, a small worker that starts it, and a referee that ends one of them
//! and counts what is left. The referee is process 1 of a pid namespace, so that nothing of a trial can get away.
//! And that of the attack tests, which tries everything a job must not be able to do.
#![cfg_attr(
    target_os = "linux",
    expect(clippy::unwrap_used, clippy::print_stdout, reason = "a test program ends at what it does not expect")
)]

#[cfg(target_os = "linux")]
mod attack;
#[cfg(target_os = "linux")]
mod host;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod referee;
#[cfg(target_os = "linux")]
mod role;

/// The trials are of what Linux enforces; their tests exist on Linux alone.
#[cfg(not(target_os = "linux"))]
fn main() -> std::process::ExitCode {
    69.into()
}

#[cfg(target_os = "linux")]
fn main() -> std::process::ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["hostile", shape] => hostile::run(shape),
        ["host", jail, modes, shape, scratch] => host::run(jail, modes, shape, scratch.as_ref()),
        ["referee", end, jail, modes, shape, scratch] => return referee::judge(end, jail, modes, shape, scratch),
        ["victim"] => attack::victim(),
        ["attack", place, scratch, outside, port, unix, victim] => {
            attack::run(place, scratch, outside, port, unix, victim);
        }
        ["attacks", jail, folder] => attack::both(jail, folder.as_ref()),
        ["supervisor", folder, last_words] => role::supervisor(folder.as_ref(), last_words),
        ["worker", jail, folder] => role::worker(jail, folder.as_ref()),
        ["control", shape] => return referee::control(shape),
        _ => return 64.into(),
    }
    0.into()
}
