//! Files it makes, and what it tells of its surroundings.

use crate::job::{Done, Job};
use serde_json::Value;
use std::fs;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};

fn report(job: &Job) -> Value {
    serde_json::from_str(&job.run().answer()).unwrap()
}

#[test]
fn a_report_tells_arguments_environment_folder_and_descriptors() {
    let job = Job::framed("@stub report", serde_json::json!([])).arg("--api-key-stdin").stdin("12345\n");
    let report = report(&job);
    let report = &report["report"];
    let argv: Vec<_> = report["argv"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    assert_eq!(argv[1..4], ["exec", "--json", "--api-key-stdin"]);
    assert_eq!(report["env"]["TMPDIR"].as_str(), job.folder.path().to_str());
    assert_eq!(fs::canonicalize(report["cwd"].as_str().unwrap()).unwrap(), fs::canonicalize(job.ws()).unwrap());
    let fds: Vec<_> = report["fds"].as_array().unwrap().iter().map(|fd| fd["fd"].as_u64().unwrap()).collect();
    assert!(fds.starts_with(&[0, 1, 2]), "{fds:?}");
    assert_eq!(report["key_bytes"], 5);
    let fields = serde_json::json!(["caller", "contextId", "message", "messageId", "taskId", "turns"]);
    assert_eq!(report["fields"], fields);
    assert!(report["uid"][0].is_u64() && report["limits"]["nofile"].is_u64());
}

#[test]
fn a_descriptor_that_is_inherited_is_seen() {
    let job = Job::of("@stub report");
    let file = fs::File::create(job.folder.path().join("leaked")).unwrap();
    let mut command = std::process::Command::new("/bin/sh");
    command.arg("-c").arg("exec \"$0\" exec --json --prompt-file \"$1\" 7>&0").arg(crate::job::STUB);
    command.arg(job.folder.path().join("prompt")).stdin(file).current_dir(job.ws());
    let report: Value = serde_json::from_str(&Done(command.output().unwrap()).answer()).unwrap();
    let found = report["report"]["fds"].as_array().unwrap().iter().any(|fd| fd["fd"] == 7);
    assert!(found, "{report}");
}

#[test]
fn probes_say_ok_or_the_name_of_the_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let open = listener.local_addr().unwrap();
    let job = Job::of("");
    fs::write(job.ws().join("file"), "content").unwrap();
    let socket = job.folder.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let script = format!(
        "@stub read=file read=/no/such list=. write=new write=file append=file rename=file link=file chmod=file mkdir=dir \
         mkdir=/no/such/dir exec=/bin/sh exec=file connect={open} connect=nonsense udp={open} unix={} unix=file \
         listen=127.0.0.1:0 signal={} remove=file remove=file",
        socket.display(),
        std::process::id()
    );
    fs::write(job.folder.path().join("prompt"), script).unwrap();
    let told = report(&job);
    let rows: Vec<_> = told["probes"].as_array().unwrap().iter().map(|row| row["result"].as_str().unwrap()).collect();
    let expected = [
        "ok",
        "ENOENT",
        "ok",
        "ok",
        "EEXIST",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "ENOENT",
        "ok",
        "EACCES",
        "ok",
        "InvalidInput",
        "ok",
        "ok",
        "ECONNREFUSED",
        "ok",
        "ok",
        "ok",
        "ENOENT",
    ];
    assert_eq!(rows, expected, "{told}");
    assert_eq!(told["probes"][0]["detail"], "content");
}

#[test]
fn files_are_made_as_told() {
    let job = Job::of("@stub out=report.txt text=\"forty two\"\n@stub out=deep/er.bin bytes=1000 answer=done");
    assert_eq!(job.run().answer(), "done");
    let out = job.folder.path().join("out");
    assert_eq!(fs::read(out.join("report.txt")).unwrap(), b"forty two");
    assert_eq!(fs::read(out.join("deep/er.bin")).unwrap().len(), 1000);

    for outside in ["/tmp/x", "../x", ""] {
        let job = Job::of(&format!("@stub out=\"{outside}\" answer=done"));
        assert_ne!(job.run().answer(), "done", "{outside}");
    }
    for what in ["files", "deep", "fifo", "closed", "links", "names", "huge", "sparse", "hard"] {
        let job = Job::of(&format!("@stub fill={what} count=5 bytes=1"));
        assert_eq!(job.run().answer(), format!("made 5 of {what}\n"), "{what}");
        let first = job.ws().join(format!("{what}-0"));
        match what {
            "deep" => assert!(job.ws().join("d/d/d/d/d").is_dir() && !job.ws().join("d/d/d/d/d/d").exists()),
            "fifo" => assert!(first.metadata().unwrap().file_type().is_fifo()),
            "closed" => {
                assert_eq!(first.metadata().unwrap().permissions().mode() & 0o777, 0);
                for closed in fs::read_dir(job.ws()).unwrap().map(|entry| entry.unwrap().path()) {
                    fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
                    fs::set_permissions(closed.join("inside"), fs::Permissions::from_mode(0o700)).unwrap();
                }
            }
            "links" => assert_eq!(fs::read_link(first).unwrap().to_str(), Some("/")),
            "names" => assert_eq!(fs::read_dir(job.ws()).unwrap().count(), 5),
            "huge" | "sparse" => assert_eq!(first.metadata().unwrap().len(), 1 << 20),
            _ => assert!(first.is_file()),
        }
    }
    let job = Job::of("@stub fill=deep count=300");
    assert_eq!(job.run().answer(), "made 300 of deep\n");
}

#[test]
fn litter_is_what_the_real_program_leaves() {
    let job = Job::of("@stub litter answer=done");
    assert_eq!(job.run().answer(), "done");
    let names: Vec<_> =
        fs::read_dir(job.folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().any(|name| name.starts_with("muse-workspace-probe-")), "{names:?}");
    assert!(job.ws().join("data/muse/local-tracing/bootstrap").is_dir());
}
