//! Arguments, versions, plain text, exit codes before a run.

use crate::job::{Done, Job, STUB};
use std::os::unix::process::CommandExt;
use std::process::Command;

fn call(args: &[&str], build: Option<&str>) -> Done {
    let mut command = Command::new(STUB);
    command.args(args).env_clear();
    if let Some(build) = build {
        command.env("MUSE_STUB_BUILD", build);
    }
    Done(command.output().unwrap())
}

fn text(done: &Done) -> String {
    String::from_utf8_lossy(done.stdout()).into_owned()
}

#[test]
fn the_version_begins_as_the_real_one_and_says_that_it_is_not() {
    let version = text(&call(&["--version"], None));
    assert!(version.starts_with("Muse Code 1.4.14 (1.4.14-R7309.1)") && version.contains("stand-in"), "{version}");
    assert!(text(&call(&["--version"], Some("1.3.0"))).starts_with("Muse Code 1.3.0 "));
    let by_name = Command::new(STUB).arg0("/usr/bin/muse-stub-1.0.3").arg("--version").output().unwrap();
    assert!(text(&Done(by_name)).starts_with("Muse Code 1.0.3 "));
}

#[test]
fn an_older_build_lists_and_takes_fewer_flags() {
    let lists = |build, flag: &str| text(&call(&["exec", "--help"], build)).contains(flag);
    for (flag, before, since) in [
        ("--disable-request-user-input", "1.4.8", "1.4.9"),
        ("--contributor-mode", "1.4.5", "1.4.6"),
        ("--disable-reminders", "1.4.2", "1.4.3"),
        ("--output-schema", "1.2.9", "1.3.0"),
        ("--approval-mode", "0.2.1", "1.0.0"),
    ] {
        assert!(lists(Some(since), flag) && lists(None, flag) && !lists(Some(before), flag), "{flag}");
    }
    let args = ["exec", "--json", "--disable-request-user-input", "say something"];
    assert_eq!(call(&args, Some("1.4.8")).code(), Some(2));
    assert_eq!(call(&args, Some("1.4.9")).code(), Some(0));
    assert_eq!(call(&["exec"], Some("1.0.3")).code(), Some(1), "missing prompt, before 1.3.0");
    assert_eq!(call(&["exec"], None).code(), Some(2));
}

#[test]
fn usage_errors_are_exit_2_with_nothing_on_stdout() {
    for args in [
        &["exec", "--no-such-flag", "x"][..],
        &["exec", "--json=yes", "x"],
        &["exec", "--provider", "nobody", "x"],
        &["exec", "--provider", "echo", "--model", "m", "x"],
        &["exec", "--provider=echo", "--api-key-stdin", "x"],
        &["exec", "--provider", "echo", "--output-schema", "f", "x"],
        &["exec", "--reasoning-effort", "none", "x"],
        &["exec", "--max-model-steps", "many", "x"],
        &["exec", "--max-tool-output-bytes", "8", "x"],
        &["exec", "--session-id", "a", "--no-session-log", "x"],
        &["exec", "--api-key", "secret", "x"],
        &["exec", "--prompt-file"],
        &["exec", "--prompt-file", "f", "x"],
        &["exec", "one", "two"],
        &["--json", "exec", "x"],
        &["nothing"],
        &[],
    ] {
        let done = call(args, None);
        assert_eq!((done.code(), done.stdout().len()), (Some(2), 0), "{args:?}: {}", done.stderr());
        assert!(!done.stderr().is_empty());
    }
}

#[test]
fn every_flag_of_a_sealed_job_is_taken() {
    let job = Job::of("say something")
        .arg("--worktree=off")
        .arg("--disable-approval")
        .arg("--disable-write")
        .arg("--disable-shell")
        .arg("--disable-web-tools")
        .arg("--disable-request-user-input")
        .arg("--no-foreign-personal-context")
        .arg("--disable-reminders")
        .arg("--no-session-log")
        .arg("--max-model-steps=8")
        .arg("--max-tool-output-bytes=4096")
        .arg("--model=muse-spark-1.3")
        .arg("--contributor-mode=off")
        .arg("-c")
        .arg("run.toolset=null")
        .arg("--api-key-stdin")
        .stdin("key\n");
    let done = job.run();
    assert_eq!(done.code(), Some(0), "{}", done.stderr());
    assert!(done.stderr().contains("muse: workspace root: "));
    assert!(done.stderr().lines().all(|line| line.starts_with("muse: ")), "only noise on success: {}", done.stderr());
}

#[test]
fn the_echo_provider_repeats_the_prompt_and_follows_no_script() {
    let done = Job::of("@stub fail=steps").arg("--provider").arg("echo").run();
    assert_eq!((done.code(), done.answer()), (Some(0), "echo: @stub fail=steps".to_owned()));
}

#[test]
fn plain_text_without_json() {
    let done = call(&["exec", "@stub answer=\"one two three\""], None);
    assert_eq!((text(&done).as_str(), done.code()), ("one two three\n", Some(0)));
    let done = call(&["exec", "--", "--leading"], None);
    assert_eq!(done.code(), Some(0));
}

#[test]
fn keys_models_steps_and_schemas_can_be_wrong() {
    let key = |key: &str| Job::of("x").arg("--api-key-stdin").stdin(key).run();
    assert_eq!((key("good\n").code(), key("").code(), key("rejected-1\n").code()), (Some(0), Some(1), Some(1)));
    assert!(key("\n").stderr().contains("missing meta credentials") && key("\n").stdout().is_empty());
    assert!(key("rejected\n").stderr().contains("authentication failed"));
    let model = Job::of("x").arg("--model=no-such-model").run();
    assert!(model.code() == Some(1) && model.reason().contains("does not exist or you lack access"));
    let steps = Job::of("@stub tool=a tool=b answer=x").arg("--max-model-steps=2").run();
    assert_eq!(
        (steps.code(), steps.reason()),
        (Some(1), "model did not reach a terminal state within 2 step(s)".into())
    );
    let tool = Job::of("@stub tool=a text=0123456789abcdef").arg("--max-tool-output-bytes=10").run();
    assert_eq!(tool.texts("tool.result"), ["0123456789"]);
}

#[test]
fn an_answer_satisfies_the_schema_that_is_given() {
    let run = |schema: &str, prompt: &str| {
        let job = Job::of(prompt);
        let path = job.folder.path().join("schema.json");
        std::fs::write(&path, schema).unwrap();
        job.arg("--output-schema").arg(path.to_str().unwrap()).run()
    };
    let schema =
        r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}"#;
    assert_eq!(run(schema, "x").answer(), r#"{"n":1}"#);
    assert_eq!(run(schema, "@stub answer=no").answer(), "no");
    let missing = run(r#"{"type":"object","properties":{"n":{"type":"integer"}}}"#, "x");
    assert!(missing.code() == Some(1) && missing.reason().contains("'required' is required to be supplied"));
    assert_eq!(run("{", "x").code(), Some(1));
}

#[test]
fn a_run_does_not_begin_with_a_strange_workspace_or_a_broken_settings_file() {
    let job = Job::of("x");
    let place = job.folder.path().to_owned();
    std::os::unix::fs::symlink(job.ws(), place.join("way")).unwrap();
    let run = |workspace: &str, settings: Option<&str>| {
        std::fs::create_dir_all(place.join("muse")).unwrap();
        let file = place.join("muse/settings.json");
        settings.map_or_else(|| drop(std::fs::remove_file(&file)), |text| std::fs::write(&file, text).unwrap());
        let mut command = job.command();
        command.arg("--workspace").arg(place.join(workspace)).env("XDG_CONFIG_HOME", &place);
        Done(command.output().unwrap())
    };
    let fine = "{\"schema_version\":1,\"telemetry\":{\"enabled\":false}}";
    for (workspace, settings, code) in [
        ("ws", None, 0),
        ("ws", Some(fine), 0),
        ("ws", Some("{}"), 1),
        ("ws", Some("{"), 1),
        ("way", None, 1),
        ("prompt", None, 1),
        ("nowhere", None, 1),
    ] {
        let done = run(workspace, settings);
        assert_eq!(done.code(), Some(code), "{workspace} {settings:?}: {}", done.stderr());
        assert_eq!(done.stdout().is_empty(), code != 0);
    }
}

#[test]
fn the_manual_lists_the_words_as_the_help_does() {
    let help = text(&call(&["--help"], None));
    let (_, words) = help.split_once("How, for a whole line").unwrap();
    let manual = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/muse-stub.md")).unwrap();
    assert!(manual.contains(words.trim_end()), "docs/muse-stub.md is old: copy the words from `muse-stub --help`");
}

#[test]
fn every_word_does_something() {
    let help = text(&call(&["--help"], None));
    let (_, words) = help.split_once("What is said\n").unwrap();
    let (words, _) = words.split_once("Ways to fail").unwrap();
    let names = words.lines().filter_map(|line| line.strip_prefix("  ")).map(|line| line.split(' ').next().unwrap());
    for name in names {
        let (name, value) = name.split_once('=').map_or((name, ""), |(name, placeholder)| match placeholder {
            "N" | "MS" | "MIB" => (name, "=1"),
            "ADDRESS" => (name, "=127.0.0.1:1"),
            _ => (name, "=no/such/thing"),
        });
        if ["flood", "hang", "stop", "crash"].contains(&name) {
            continue; // tested with the processes
        }
        let done = Job::of(&format!("@stub {name}{value} life=1")).run();
        let all = String::from_utf8_lossy(done.stdout()).into_owned() + &done.stderr();
        assert!(!all.contains("no such word") && !all.contains("Unsupported"), "{name}: {all}");
    }
}
