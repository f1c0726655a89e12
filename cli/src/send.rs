//! `musegate send` and `musegate task`: the other direction, from here to any A2A agent.

use crate::args::{Agent, Send, Task, TaskOf};
use crate::client::agents::{self, Unknown};
use crate::client::http::{NoAnswer, Peer};
use crate::client::rpc::{CallError, Outgoing, Target, discover};
use crate::client::task::View;
use crate::exit::Exit;
use crate::out;
use crate::paths::Folders;
use musegate_settings::private;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use zeroize::Zeroizing;

/// Most bytes of a message.
const MAX_MESSAGE: u64 = 256 * 1024;

/// Why nothing was sent, or no answer came.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SendError {
    #[error(transparent)]
    Unknown(#[from] Unknown),
    #[error("{0} has no url in agents.toml")]
    NoUrl(String),
    #[error("the token file cannot be used: {0}")]
    Token(#[from] private::Refused),
    #[error("the message cannot be read from stdin: {0}")]
    Stdin(std::io::Error),
    #[error("the message is empty; write it to stdin: echo 'What is new?' | musegate send --to …")]
    NoMessage,
    #[error("the message is over {MAX_MESSAGE} bytes")]
    TooLong,
    #[error("no random numbers: {0}")]
    Random(getrandom::Error),
    #[error(transparent)]
    Call(#[from] CallError),
}

impl SendError {
    fn exit(&self) -> Exit {
        match self {
            Self::Unknown(_) | Self::NoUrl(_) | Self::Token(_) => Exit::Config,
            Self::Stdin(_) => Exit::Io,
            Self::NoMessage => Exit::NoInput,
            Self::TooLong => Exit::Data,
            Self::Random(_) => Exit::Os,
            Self::Call(CallError::NoAnswer(NoAnswer::Url(_))) => Exit::Usage,
            Self::Call(CallError::NoAnswer(NoAnswer::Token)) => Exit::Config,
            Self::Call(CallError::NoAnswer(_)) => Exit::NoConnection,
            Self::Call(CallError::Http { status, .. }) => match status.as_u16() {
                401 | 403 => Exit::Unauthorized,
                429 | 503 => Exit::Later,
                _ => Exit::HttpError,
            },
            Self::Call(CallError::Rpc { .. }) => Exit::RpcError,
            Self::Call(CallError::NotA2a(_) | CallError::OtherHost { .. }) => Exit::NotA2a,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Call(CallError::Http { retry_after: Some(seconds), .. }) => Some(format!("retry after {seconds} s")),
            Self::Call(CallError::Http { status, .. }) if status.as_u16() == 401 => {
                Some("give a token with --token-file FILE or in MUSEGATE_TOKEN".to_owned())
            }
            _ => None,
        }
    }
}

/// `musegate send`
pub(crate) async fn send(args: &Send, folders: &Folders) -> Exit {
    finish(&args.agent, exchange(args, folders).await)
}

/// `musegate task`
pub(crate) async fn task(args: &Task, folders: &Folders) -> Exit {
    let (Task::Get(of) | Task::Wait(of) | Task::Cancel(of)) = args;
    finish(&of.agent, about(args, of, folders).await)
}

async fn about(args: &Task, of: &TaskOf, folders: &Folders) -> Result<(View, Wanted), SendError> {
    let target = reach(&of.agent, folders).await?;
    Ok(match args {
        Task::Get(_) => (target.get(&of.id).await?, Wanted::State),
        Task::Wait(_) => (wait(&target, target.get(&of.id).await?).await?, Wanted::End),
        Task::Cancel(_) => (target.cancel(&of.id).await?, Wanted::Cancel),
    })
}

async fn exchange(args: &Send, folders: &Folders) -> Result<(View, Wanted), SendError> {
    let text = message()?;
    let target = reach(&args.agent, folders).await?;
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(SendError::Random)?;
    let message_id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let (context, task) = (args.context.as_deref(), args.task.as_deref());
    let out = Outgoing { text: &text, context, task, message_id: &message_id, wait: !args.no_wait };
    let view = target.send(&out).await?;
    if args.no_wait {
        return Ok((view, Wanted::Id));
    }
    Ok((wait(&target, view).await?, Wanted::End))
}

/// What the command was for, so that "canceled" is a success of `task cancel` and "working" one of `--no-wait`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Id,
    State,
    End,
    Cancel,
}

/// Asks again after 1, 2, 4, 8 … 30 seconds, until the Task is over or waits for us.
async fn wait(target: &Target, mut view: View) -> Result<View, SendError> {
    let mut pause = 1;
    while !view.is_over() {
        let Some(id) = view.task.clone() else { break };
        tokio::time::sleep(Duration::from_secs(pause)).await;
        pause = (pause * 2).min(30);
        match target.get(&id).await {
            Ok(next) => view = next,
            // The agent is busy or restarts: the Task is still there.
            Err(CallError::Http { status, retry_after, .. }) if matches!(status.as_u16(), 429 | 503) => {
                pause = pause.max(retry_after.unwrap_or(0).min(30));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(view)
}

async fn reach(args: &Agent, folders: &Folders) -> Result<Target, SendError> {
    let agent = agents::find(&args.to, &folders.config.join("agents.toml"))?;
    let url = agent.url.ok_or_else(|| SendError::NoUrl(args.to.clone()))?;
    let token = match args.token_file.as_deref() {
        Some(file) => Some(token(file)?),
        None => match std::env::var("MUSEGATE_TOKEN") {
            Ok(token) => Some(Zeroizing::new(token.trim().to_owned())),
            Err(_) => agent.token_file.as_deref().map(token).transpose()?,
        },
    };
    let timeout = args.timeout.unwrap_or(agent.timeout);
    Ok(discover(Peer { token, version: None, timeout }, &url).await?)
}

fn token(file: &Path) -> Result<Zeroizing<String>, SendError> {
    let text = private::read(file, private::Rule::Secret, 64 * 1024)?;
    Ok(Zeroizing::new(text.lines().next().unwrap_or_default().trim().to_owned()))
}

fn message() -> Result<String, SendError> {
    let mut text = String::new();
    let read = std::io::stdin().take(MAX_MESSAGE + 1).read_to_string(&mut text);
    read.map_err(SendError::Stdin)?;
    if text.len() as u64 > MAX_MESSAGE {
        return Err(SendError::TooLong);
    }
    if text.trim().is_empty() { Err(SendError::NoMessage) } else { Ok(text) }
}

fn finish(args: &Agent, result: Result<(View, Wanted), SendError>) -> Exit {
    let (view, wanted) = match result {
        Ok(done) => done,
        Err(error) => {
            out::complain(&error.to_string(), error.hint().as_deref());
            return error.exit();
        }
    };
    if args.json {
        out::line(&view.raw.to_string());
    } else {
        show(args, &view, wanted);
    }
    match (wanted, view.exit()) {
        (Wanted::Id, Exit::NotOver) | (Wanted::Cancel, Exit::Canceled) => Exit::Ok,
        (_, exit) => exit,
    }
}

fn show(args: &Agent, view: &View, wanted: Wanted) {
    if wanted == Wanted::Id && !view.is_over() {
        out::line(view.task.as_deref().unwrap_or_default());
    } else {
        out::text(&view.text());
    }
    let status = view.status_text();
    if view.state != "completed" {
        out::note(&format!("the Task is {}", view.state));
        if !status.is_empty() {
            out::note(status.trim_end());
        }
    } else if view.text().is_empty() {
        out::text(&status);
    }
    if let Some(context) = &view.context {
        out::note(&format!("to go on: musegate send --to {} --context {context}", args.to));
    }
}
