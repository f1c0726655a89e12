//! What a job cannot do: every attack of the list, inside with its exact errno, outside with success, since an attempt
//! that fails anyway proves nothing.
#![cfg(target_os = "linux")]

mod arena;

use arena::{Arena, Who, everybody};
use musegate_protocol::message::Layer;
use musegate_sandbox_profiles::attack::{attempts, gaps};
use std::collections::HashMap;
use std::path::Path;

/// What nobody can do outside without a capability (its number), so that for others there is no control.
const NEEDS: [(&str, u32); 2] = [("raise-limits", 24), ("set-groups", 6)];

/// Whether this process could do it outside.
fn has_control(who: Who, name: &str) -> bool {
    let Some((_, bit)) = NEEDS.iter().find(|(needs, _)| *needs == name) else { return true };
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap_or("0").trim();
    who == Who::Me && u64::from_str_radix(mask, 16).unwrap_or(0) >> bit & 1 == 1
}

/// Outcome by place and name.
fn outcomes(said: &str) -> HashMap<(&str, &str), &str> {
    said.lines()
        .filter_map(|line| {
            let mut words = line.splitn(3, ' ');
            Some(((words.next()?, words.next()?), words.next()?))
        })
        .collect()
}

fn attack(arena: &Arena, who: Who) -> String {
    let (jail, scratch) = (arena.program("trial-jail"), arena.scratch());
    arena.run(who, &[Path::new("attacks"), &jail, scratch.path()])
}

#[test]
fn every_attack_fails_inside_by_its_own_errno_and_succeeds_outside() {
    let arena = Arena::new();
    for who in everybody() {
        let said = attack(&arena, *who);
        let outcomes = outcomes(&said);
        let mut wrong = Vec::new();
        for attempt in attempts() {
            let inside = outcomes.get(&("inside", attempt.name)).copied().unwrap_or("missing");
            if !attempt.expected.iter().any(|errno| format!("{errno:?}") == inside) {
                wrong.push(format!("{who:?} {}: inside {inside}, not {:?}", attempt.name, attempt.expected));
            }
            let outside = outcomes.get(&("outside", attempt.name)).copied().unwrap_or("missing");
            if !has_control(*who, attempt.name) {
                eprintln!("skipped: the control of {} as {who:?}, which lacks the capability", attempt.name);
            } else if outside != "ok" {
                wrong.push(format!("{who:?} {}: outside {outside}, so that it proves nothing", attempt.name));
            }
        }
        assert_eq!(outcomes.get(&("inside", "ended")), Some(&"Code(0)"), "{said}");
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}

#[test]
fn every_known_gap_is_still_there() {
    let arena = Arena::new();
    let said = attack(&arena, Who::Me);
    for gap in gaps() {
        assert_eq!(outcomes(&said).get(&("inside", gap.name)), Some(&"ok"), "{}: {}", gap.name, gap.note);
    }
}

#[test]
fn every_layer_that_an_attack_names_is_reported_to_hold() {
    let arena = Arena::new();
    for who in everybody() {
        let said = attack(&arena, *who);
        for attempt in attempts() {
            assert!(Layer::ALL.iter().any(|layer| layer.word() == attempt.held_by), "{}", attempt.held_by);
            assert_eq!(outcomes(&said).get(&("holds", attempt.held_by)), Some(&"ok"), "{said}");
        }
    }
}
