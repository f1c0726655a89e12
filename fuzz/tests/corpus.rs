//! Every kept input through its target, without a fuzzer, and then a little changed.

use musegate_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

fn inputs(name: &str) -> Vec<Vec<u8>> {
    let mut files: Vec<PathBuf> = fs::read_dir(corpus().join(name)).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).unwrap()).collect()
}

#[test]
fn every_target_has_a_corpus_and_every_corpus_a_target() {
    let folders = fs::read_dir(corpus()).unwrap().map(|folder| folder.unwrap().file_name().into_string().unwrap());
    let names: BTreeSet<String> = TARGETS.iter().map(|target| target.name.to_owned()).collect();
    assert_eq!(folders.collect::<BTreeSet<_>>(), names);
    for target in TARGETS {
        let all = inputs(target.name);
        assert!(!all.is_empty(), "{}", target.name);
        assert!(all.iter().map(Vec::len).sum::<usize>() <= 128 * 1024, "{} is too large to keep", target.name);
        assert!(all.iter().all(|input| input.len() <= target.max_len), "{} has an input that is too long", target.name);
    }
}

#[test]
fn every_kept_input_keeps_the_promises() {
    for target in TARGETS {
        inputs(target.name).iter().for_each(|input| (target.run)(input));
    }
}

/// Cuts, doublings, exchanged and changed bytes: what a fuzzer does first.
#[test]
fn a_little_changed_they_keep_them_too() {
    let mut seed = 1u64;
    let mut random = move |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below.max(1)
    };
    for target in TARGETS {
        for mut input in inputs(target.name) {
            for _ in 0..4 {
                let at = random(input.len());
                match (random(5), input.is_empty()) {
                    (0, false) => input.truncate(at),
                    (1, false) => input[at] = random(256) as u8,
                    (2, false) => input[at] ^= 1 << random(8),
                    (3, false) => {
                        let other = random(input.len());
                        input.swap(at, other);
                    }
                    _ => input.insert(at, random(256) as u8),
                }
                (target.run)(&input);
            }
        }
    }
}
