use super::*;

fn parse(text: &str) -> Result<Config, Problems> {
    Config::parse(Path::new("worker.toml"), text)
}

fn problems(text: &str) -> Vec<String> {
    let Err(Problems(all)) = parse(text) else { return Vec::new() };
    all.iter().map(ToString::to_string).collect()
}

#[test]
fn an_empty_file_gives_every_default() {
    let config = parse("").unwrap();
    assert_eq!(config.jobs.slots, 1);
    assert_eq!(config.limits.first_line, Duration::from_secs(30));
    assert_eq!(config.muse.tools, Tools::default());
    assert_eq!(config.socket.supervisor, None);
    assert!(!config.allow_root && !config.muse.contributor_mode);
}

#[test]
fn every_declared_default_reads_back_as_itself() {
    let mut text = String::new();
    let mut section = String::new();
    for key in Config::declare() {
        if key.section != section {
            section.clone_from(&key.section);
            text += &format!("[{section}]\n");
        }
        if let Some(default) = key.default {
            text += &format!("{} = {default}\n", key.key);
        }
    }
    let (given, implied) = (parse(&text).unwrap(), parse("").unwrap());
    assert_eq!(format!("{given:?}"), format!("{implied:?}"));
}

#[test]
fn all_problems_are_told_at_once_with_their_lines() {
    let text =
        "allow_root = 3\n[muse]\npath = \"muse\"\nmodle = \"x\"\n[jobs]\nslots = 0\n[limits]\nwall = \"9 years\"\n";
    let all = problems(text);
    assert_eq!(all.len(), 5, "{all:#?}");
    assert!(all[0].starts_with("worker.toml:1: allow_root:"), "{}", all[0]);
    assert!(all[1].contains("muse.path") && all[1].contains("absolute"));
    assert!(all[2].contains("did you mean muse.model?"));
    assert!(all[3].contains("jobs.slots") && all[4].contains("limits.wall"));
}

#[test]
fn no_key_names_a_callers_token_or_an_address_to_listen_on() {
    for key in Config::declare() {
        let name = format!("{}.{}", key.section, key.key);
        for word in ["token", "caller", "listen", "address", "host", "port", "bind", "url", "bearer"] {
            assert!(!name.contains(word), "{name} speaks of what only the supervisor knows");
        }
    }
}

#[test]
fn a_socket_path_of_104_bytes_is_refused() {
    let path = |len: usize| format!("[socket]\npath = \"/{}\"", "s".repeat(len - 1));
    assert!(parse(&path(103)).is_ok());
    assert!(problems(&path(104))[0].contains("104 bytes"));
}

#[test]
fn relative_and_climbing_paths_are_refused() {
    for path in ["jobs", "./jobs", "/run/../etc", ""] {
        assert_eq!(problems(&format!("[jobs]\nscratch = \"{path}\"")).len(), 1, "{path:?}");
    }
}

#[test]
fn a_model_that_looks_like_a_flag_is_refused() {
    assert_eq!(problems("[muse]\nmodel = \"--yolo\"").len(), 1);
    assert_eq!(parse("[muse]\nmodel = \"muse-spark-1.3\"").unwrap().muse.model.as_deref(), Some("muse-spark-1.3"));
}

#[test]
fn a_pattern_has_a_kind_a_literal_an_alphabet_and_a_count() {
    assert!(problems("[redaction]\npatterns = [\"(.*)+\"]")[0].contains("KIND=LITERAL"));
    let list = |n: usize| format!("[redaction]\npatterns = [{}]", "\"acme=AC-[A-Z0-9]{16,}\",".repeat(n));
    assert_eq!(parse(&list(8)).unwrap().redact.len(), 8);
    assert!(problems(&list(9))[0].contains("there may be 8"));
}

#[test]
fn a_layer_is_named_by_its_word() {
    let config = parse("[confinement]\nallow_weak = [\"landlock-tcp\"]").unwrap();
    assert_eq!(config.allow_weak, [Layer::LandlockTcp]);
    assert!(problems("[confinement]\nallow_weak = [\"all\"]")[0].contains("landlock-files"));
}

#[test]
fn a_job_gets_the_smaller_of_each_bound() {
    let own = parse("").unwrap().limits;
    let asked = JobLimits { wall_seconds: 5, output_bytes: 1 << 40, files: 200, file_bytes: 10 };
    let narrowed = own.narrowed(&asked);
    assert_eq!(narrowed.wall, Duration::from_secs(5));
    assert_eq!((narrowed.output, narrowed.files, narrowed.file_bytes), (own.output, own.files, 10));
    let nothing = own.narrowed(&JobLimits { wall_seconds: 0, output_bytes: 0, files: 0, file_bytes: 0 });
    assert_eq!((nothing.wall, nothing.output, nothing.files), (own.wall, own.output, 0));
}
