//! One program for all targets; `MUSEGATE_FUZZ` names the one that runs. Use `run.sh`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use musegate_fuzz::Target;
use std::sync::OnceLock;

static CHOSEN: OnceLock<&'static Target> = OnceLock::new();

fuzz_target!(|input: &[u8]| {
    let target = CHOSEN.get_or_init(|| {
        let name = std::env::var("MUSEGATE_FUZZ").unwrap_or_default();
        musegate_fuzz::find(&name).unwrap_or_else(|| panic!("MUSEGATE_FUZZ={name} is no target"))
    });
    (target.run)(input);
});
