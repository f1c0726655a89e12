//! The keys of each section, each with its default, its range and its sentence.

use super::{Jobs, Limits, Muse, Provider, Reach, Socket, Tools, check};
use musegate_logs::{Bounds, Format};
use musegate_protocol::message::MAX_JOBS;
use musegate_settings::Section;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const DAY: Duration = Duration::from_secs(86_400);

pub(super) fn socket(section: &mut Section<'_>) -> Option<Socket> {
    let path = section.text(
        "path",
        Some("/run/musegate/worker.sock"),
        "an absolute path of at most 103 bytes",
        "The Unix socket on which the supervisor connects. Not used where systemd or launchd holds the socket.",
        check::socket_path,
    );
    let supervisor = section.text(
        "supervisor_user",
        None,
        "a user's name or number",
        "The only user that may connect. Without it the worker's own user may, and nothing separates the two processes.",
        check::user,
    );
    let silence = section.duration(
        "silence",
        SECOND * 20,
        SECOND..=SECOND * 600,
        "A supervisor that says nothing for so long is taken for dead and its jobs are ended.",
    );
    Some(Socket { path: path?, supervisor, silence })
}

pub(super) fn muse(section: &mut Section<'_>) -> Option<Muse> {
    let path = section.text(
        "path",
        Some("/usr/local/bin/muse"),
        "an absolute path",
        "Muse Code's executable. It, its folder and the folders above must not be writable for others.",
        check::absolute,
    );
    let words = [("meta", Provider::Meta), ("echo", Provider::Echo)];
    let provider = section.word(
        "provider",
        Provider::Meta,
        &words,
        "Who answers: Meta's model, or Muse itself by repeating the prompt, which needs no credential and no network.",
    );
    let model = section.text(
        "model",
        None,
        "letters, digits and . _ : - /, at most 128",
        "The model to ask for. Without it Muse takes its default, which may be one that learns from prompts.",
        check::model,
    );
    let api_key_file = section.text(
        "api_key_file",
        None,
        "an absolute path",
        "A file of mode 0600 with the API key, which Muse gets on its stdin.",
        check::absolute,
    );
    let contributor_mode =
        section.flag("contributor_mode", false, "Allow Meta to use prompts and answers to improve its models.");
    let max_steps = section.number("max_steps", 50, 1..=10_000, "Steps of the model in one job.");
    let max_tool_output = section.size(
        "max_tool_output",
        64 << 10,
        1 << 10..=16 << 20,
        "How much of one tool's result the model gets to see.",
    );
    let tools = Tools {
        shell: section.flag("shell", false, "Let the agent run commands, inside the job's confinement."),
        write: section.flag("write", false, "Let the agent write files in its scratch folder."),
        web: section.flag("web_tools", false, "Let the agent search and read the web, which Meta does for it."),
    };
    let max_steps = u32::try_from(max_steps).unwrap_or(u32::MAX);
    Some(Muse { path: path?, provider, model, api_key_file, contributor_mode, max_steps, max_tool_output, tools })
}

pub(super) fn jobs(section: &mut Section<'_>) -> Option<Jobs> {
    let slots =
        section.number("slots", 1, 1..=MAX_JOBS as u64, "Jobs at once. One more is told that the agent is busy.");
    let scratch = section.text(
        "scratch",
        Some("/run/musegate-jobs"),
        "an absolute path",
        "Where each job has a private folder, best on a memory file system. The worker makes it, and sweeps it at its start.",
        check::absolute,
    );
    let drain = section.duration(
        "drain_timeout",
        SECOND * 15,
        Duration::ZERO..=DAY,
        "How long running jobs may go on after a SIGTERM to the worker. Keep it below the service manager's own limit.",
    );
    let grace = section.duration(
        "term_grace",
        SECOND * 2,
        Duration::ZERO..=SECOND * 60,
        "How long a job has between SIGTERM and SIGKILL.",
    );
    Some(Jobs { slots: u16::try_from(slots).unwrap_or(1), scratch: scratch?, drain, grace })
}

pub(super) fn limits(section: &mut Section<'_>) -> Limits {
    Limits {
        first_line: section.duration("first_line", SECOND * 30, SECOND..=DAY, "Until the agent's first line."),
        idle: section.duration(
            "idle",
            SECOND * 300,
            SECOND..=DAY,
            "Between two lines of the agent. Does not count while one of its tools runs, or while nobody reads the answer.",
        ),
        wall: section.duration("wall", SECOND * 1800, SECOND..=7 * DAY, "The whole job, while the machine is awake."),
        wall_asleep: section.duration(
            "wall_asleep",
            SECOND * 14_400,
            SECOND..=30 * DAY,
            "The whole job by the clock on the wall, sleep of the machine included.",
        ),
        output: section.size("output", 1 << 20, 1 << 10..=1 << 30, "The answer."),
        line: section.size("line", 8 << 20, 64 << 10..=64 << 20, "One line of the agent. A longer one is skipped."),
        stdout: section.size("stdout", 1 << 30, 1 << 20..=1 << 40, "All that the agent says on stdout."),
        stderr: section.size("stderr", 4 << 20, 1 << 10..=1 << 30, "All that the agent says on stderr."),
        retries: count(section.number(
            "provider_retries",
            5,
            0..=100,
            "How often in a row the agent may ask its model's provider again.",
        )),
        retry_time: section.duration(
            "provider_retry_time",
            SECOND * 180,
            SECOND..=DAY,
            "How long it may go on asking again without success.",
        ),
        files: u8::try_from(section.number("files", 16, 0..=255, "Files taken from a job's out/ folder.")).unwrap_or(255),
        file_bytes: count(section.size("file_bytes", 8 << 20, 0..=1 << 30, "All of these files together.")),
    }
}

pub(super) fn log(section: &mut Section<'_>) -> Bounds {
    use tracing::Level;
    let forms = [("text", Format::Text), ("json", Format::Json)];
    let levels = [("error", Level::ERROR), ("warn", Level::WARN), ("info", Level::INFO), ("debug", Level::DEBUG)];
    Bounds {
        format: section.word("format", Format::Text, &forms, "The form of the log on stderr."),
        level: section.word("level", Level::INFO, &levels, "The least important lines that are still written."),
        per_minute: count(section.number(
            "per_minute",
            600,
            1..=1_000_000,
            "Most lines per minute, of one place in the program a quarter of it. What is over is counted.",
        )),
    }
}

pub(super) fn reach(section: &mut Section<'_>) -> Reach {
    Reach {
        names: section.flag(
            "names",
            true,
            "Let a job of Meta's model ask for names over UDP. Linux before 7.2 cannot bound where datagrams go.",
        ),
        memory_files: section.flag(
            "memory_files",
            false,
            "Let a job make files in memory, and so run code that was never a file, for a Muse that does not start without.",
        ),
        list_folders: section.flag(
            "list_folders",
            false,
            "Let a job list every folder, names only, for a Muse that opens the folders above its own.",
        ),
    }
}

fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
