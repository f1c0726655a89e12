//! `musegate demo`: everything at once, in a folder that is gone afterwards.

use crate::args::Demo;
use crate::client::http::{NoAnswer, Peer};
use crate::client::rpc::{CallError, Outgoing, discover};
use crate::client::task::View;
use crate::exit::Exit;
use crate::home::{self, Set};
use crate::out;
use crate::pair::Pair;
use crate::paths::Folders;
use hyper::Uri;
use musegate_protocol::Label;
use musegate_settings::private::judge_path;
use musegate_supervisor::admission::edit;
use serde_json::Value;
use std::fs::{DirBuilder, OpenOptions};
use std::future::pending;
use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

const MESSAGE: &str = "Hello! In one sentence: who are you, and how did this message reach you?";
const PATIENCE: Duration = Duration::from_secs(30);

/// A demo's own folder, gone when dropped.
struct Stage {
    folders: Folders,
    url: Uri,
    token: Zeroizing<String>,
    token_file: PathBuf,
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.folders.config) {
            out::complain(&format!("{} is left behind: {error}", self.folders.config.display()), None);
        }
    }
}

/// `musegate demo`
pub(crate) async fn run(args: &Demo) -> Exit {
    let stage = match set(args) {
        Ok(stage) => stage,
        Err(error) => {
            out::complain(&format!("the demo cannot be set up: {error}"), None);
            return Exit::CannotCreate;
        }
    };
    let mut pair = match Pair::start(&stage.folders.config) {
        Ok(pair) => pair,
        Err(error) => {
            out::complain(&format!("the pair cannot be started: {error}"), None);
            return Exit::Os;
        }
    };
    who_listens(&stage, &pair);
    let exit = match pair.keep(exchange(&stage, args)).await {
        Ok(Some(exit)) => exit,
        Ok(None) => Exit::NotOver,
        Err(exit) => exit,
    };
    if !args.once && exit == Exit::Ok {
        what_next(&stage);
        let _ = pair.keep(pending::<()>()).await;
    }
    pair.stop().await;
    exit
}

fn set(args: &Demo) -> io::Result<Stage> {
    let mut random = [0; 6];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let memory = Path::new("/dev/shm");
    let base = if memory.is_dir() { memory.to_owned() } else { std::env::temp_dir() };
    let folder = base.join(format!("musegate-demo-{name}"));
    DirBuilder::new().mode(0o700).create(&folder)?;
    let address = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?.local_addr()?;
    let mut stage = Stage {
        folders: Folders::below(&folder),
        url: format!("http://{address}").parse().map_err(io::Error::other)?,
        token: Zeroizing::default(),
        token_file: folder.join("token"),
    };
    let muse = match &args.muse {
        Some(muse) => std::path::absolute(muse)?,
        None => stand_in(&folder)?,
    };
    let supervisor = [Set { section: "listen", key: "addresses", value: format!("[\"{address}\"]") }];
    let mut worker = vec![Set::text("muse", "path", muse)];
    if let Some(provider) = args.provider {
        worker.push(Set::text("muse", "provider", provider.word()));
    }
    home::make(&stage.folders, &supervisor, &worker)?;
    let caller = Label::new("demo").map_err(io::Error::other)?;
    let token = edit::add(&folder.join("callers.toml"), &caller, None).map_err(io::Error::other)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&stage.token_file)?;
    writeln!(file, "{}", token.clear.as_str())?;
    stage.token = token.clear;
    Ok(stage)
}

/// This program under the name at which it is the stand-in. A build folder that others may write to is none that a
/// worker runs programs from; then it is a copy.
fn stand_in(folder: &Path) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let name = folder.join("muse-stub");
    if judge_path(&own).is_ok() {
        symlink(own, &name)?;
    } else {
        std::fs::copy(own, &name)?;
        std::fs::set_permissions(&name, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(name)
}

fn who_listens(stage: &Stage, pair: &Pair) {
    let (supervisor, worker) = pair.pids();
    let pid = |pid: Option<u32>| pid.map_or("-".to_owned(), |pid| pid.to_string());
    out::heading("Who listens where");
    out::line(&format!("  supervisor  pid {:<8} {}", pid(supervisor), stage.url));
    out::line(&format!("  worker      pid {:<8} {}", pid(worker), stage.folders.run.join("worker.sock").display()));
    out::line(&format!("  folder      {} (gone at the end)", stage.folders.config.display()));
}

async fn exchange(stage: &Stage, args: &Demo) -> Exit {
    let text = match args.message_file.as_deref().map(std::fs::read_to_string).transpose() {
        Ok(text) => text.unwrap_or_else(|| MESSAGE.to_owned()),
        Err(error) => {
            out::complain(&format!("the message cannot be read: {error}"), None);
            return Exit::NoInput;
        }
    };
    out::heading("\nThe message");
    out::text(&indented(&text));
    let view = match send(stage, &text).await {
        Ok(view) => view,
        Err(error) => {
            out::complain(&error.to_string(), None);
            return Exit::Unavailable;
        }
    };
    out::heading("\nThe Task that came back");
    out::text(&indented(&pretty(&view.raw)));
    out::heading("\nIts audit record");
    match audit_record(&stage.folders.state.join("audit.jsonl"), view.task.as_deref()) {
        Some(record) => out::text(&indented(&pretty(&record))),
        None => out::complain("there is no audit record of it", None),
    }
    view.exit()
}

/// Sends, and asks again while the pair is still coming up.
async fn send(stage: &Stage, text: &str) -> Result<View, CallError> {
    let deadline = Instant::now() + PATIENCE;
    let peer = Peer { token: Some(stage.token.clone()), version: None, timeout: Duration::from_secs(600) };
    let mut pause = Duration::from_millis(20);
    let out = Outgoing { text, context: None, task: None, message_id: "demo-1", wait: true };
    loop {
        let sent = async { discover(peer.clone(), &stage.url).await?.send(&out).await }.await;
        let early = match &sent {
            Err(CallError::NoAnswer(NoAnswer::Connect(..))) => true,
            Err(CallError::Http { status, .. }) => matches!(status.as_u16(), 429 | 503),
            _ => false,
        };
        if !early || Instant::now() > deadline {
            return sent;
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_secs(1));
    }
}

/// The record of the Task, or the newest one.
fn audit_record(file: &Path, task: Option<&str>) -> Option<Value> {
    let text = std::fs::read_to_string(file).ok()?;
    let records: Vec<Value> = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    let of_task = |record: &&Value| record.get("task").and_then(Value::as_str) == task;
    records.iter().rev().find(of_task).or(records.last()).cloned()
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

fn indented(text: &str) -> String {
    text.lines().map(|line| format!("  {line}\n")).collect()
}

fn what_next(stage: &Stage) {
    let token = stage.token_file.display();
    out::heading("\nWhat to try next, in another terminal");
    out::line(&format!("  echo 'What can you do?' | musegate send --to {} --token-file {token}", stage.url));
    out::line(&format!(
        "  curl -s -H \"Authorization: Bearer $(cat {token})\" {}/.well-known/agent-card.json",
        stage.url.to_string().trim_end_matches('/')
    ));
    out::line("  musegate up --init        makes a configuration folder of your own");
    out::line("\nCtrl-C ends both and leaves nothing behind.");
}
