//! `musegate up`: a pair in the foreground from the user's own folder.

use crate::args::Up;
use crate::exit::Exit;
use crate::pair::Pair;
use crate::paths::Folders;
use crate::{check, home, out};
use std::future::pending;

/// `musegate up`
pub(crate) async fn run(args: &Up, folders: &Folders) -> Exit {
    match home::make(folders, &[], &[]) {
        Ok(made) if made.is_empty() => {}
        Ok(made) => {
            made.iter().for_each(|file| out::note(&format!("made {}", file.display())));
            out::note(
                "next: say in worker.toml where muse is, then: musegate token add NAME, musegate doctor, musegate up",
            );
            if !args.init {
                out::note("nothing was started: a pair without a caller has nobody to answer");
            }
            return Exit::Ok;
        }
        Err(error) => {
            out::complain(&error.to_string(), None);
            return Exit::CannotCreate;
        }
    }
    if args.init {
        out::note(&format!("{} is there already", folders.config.display()));
        return Exit::Ok;
    }
    let problems = check::all(folders);
    if !problems.is_empty() {
        problems.iter().for_each(|problem| out::complain(&problem.to_string(), None));
        return Exit::Config;
    }
    let mut pair = match Pair::start(&folders.config) {
        Ok(pair) => pair,
        Err(error) => {
            out::complain(&format!("cannot start: {error}"), None);
            return Exit::Os;
        }
    };
    let kept = pair.keep(pending::<()>()).await;
    pair.stop().await;
    match kept {
        Ok(_) => Exit::Ok,
        Err(exit) => exit,
    }
}
