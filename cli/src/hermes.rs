//! `musegate hermes-config`: the entry for Hermes Agent that fits this pair, its time-out above all: a peer that gives
//! up before the job does would send the same work again.

use crate::args::HermesConfig;
use crate::check;
use crate::exit::Exit;
use crate::out;
use crate::paths::Folders;
use std::time::Duration;

/// What a request takes beside the job itself.
const MARGIN: Duration = Duration::from_secs(30);

/// `musegate hermes-config`
pub(crate) fn run(args: &HermesConfig, folders: &Folders) -> Exit {
    let (supervisor, worker) = match (check::supervisor_config(folders), check::worker_config(folders)) {
        (Ok(supervisor), Ok(worker)) => (supervisor, worker),
        (Err(exit), _) | (_, Err(exit)) => return exit,
    };
    let url = match (supervisor.listen.public_urls.first(), supervisor.listen.addresses.first()) {
        (Some(url), _) => url.as_str().to_owned(),
        (None, Some(address)) => format!("http://{address}"),
        (None, None) => {
            out::complain("neither public_urls nor addresses in [listen] say where this pair is reached", None);
            return Exit::Config;
        }
    };
    let timeout = (worker.limits.wall + MARGIN).as_secs();
    let name = &args.name;
    out::text(&format!(
        "# For Hermes' config.yaml. The token stands in Hermes' own .env, see its manual; make one with:\n\
         #   musegate token add hermes\n\
         a2a_agents:\n  {name}:\n    url: {url}\n    auth:\n      type: bearer\n      token: ${{MUSEGATE_TOKEN}}\n    \
         # a job may take {} s; a peer that gives up earlier asks for the same work twice\n    timeout: {timeout}\n",
        worker.limits.wall.as_secs()
    ));
    out::note(
        "Hermes shows its model the text of a JSON-RPC error only: set busy = \"rpc\" for its caller in callers.toml",
    );
    Exit::Ok
}
