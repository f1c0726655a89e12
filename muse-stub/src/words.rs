//! The words of a script, with a sentence each: what `--help` prints, what the parser accepts.

use std::fmt::Write;

/// A word: its name, the placeholder of its value (empty: it takes none; in brackets: it may have one), what it does.
pub(crate) type Word = (&'static str, &'static str, &'static str);

/// Words that say how; they hold for their whole line, wherever they stand in it.
pub(crate) const SETTINGS: &[Word] = &[
    ("bytes", "N", "size of what is made, bytes (32)"),
    ("count", "N", "how many (8)"),
    ("gap", "MS", "wait between two records (0)"),
    ("ts", "1", "each delta begins with t=<monotonic nanoseconds>, read just before it is written"),
    ("pieces", "K", "deltas that an answer is cut into (3)"),
    ("http", "CODE", "status of the provider's failed tries; 0: no answer at all (429)"),
    ("text", "TEXT", "content of what is written"),
    ("place", "WHERE", "where a leak goes: answer, tool, stderr, final or reason (answer)"),
    ("life", "S", "longest life of what is started, and of floods and hangs, seconds, at most 60 (60)"),
    ("tag", "WORD", "stands in the arguments of every process that is started, to find it by"),
];

/// Words that do something, in the order in which they stand.
pub(crate) const STEPS: &[(&str, &[Word])] = &[
    (
        "What is said",
        &[
            ("answer", "TEXT", "answer this, in a few deltas"),
            ("stream", "N", "answer N deltas of `bytes` bytes, `gap` apart"),
            ("history", "", "answer the earlier turns, one a line, and the message"),
            ("prompt", "", "answer the whole prompt"),
            ("contract", "STATE", "answer {\"a2a\":1,…}: completed, input-required, rejected, failed, or message"),
            (
                "leak",
                "SECRET",
                "say this, cut into `pieces` records, in `place`; the word `key` stands for the key on stdin",
            ),
            ("final", "TEXT", "the terminal record has this text, whatever the deltas said"),
            ("no-usage", "", "no usage record"),
        ],
    ),
    (
        "Time",
        &[
            ("quiet", "MS", "wait before the first record"),
            ("sleep", "MS", "wait here"),
            ("hang", "", "go no further"),
            ("linger", "MS", "wait between the terminal record and the exit"),
            ("flood", "WHAT", "without end: deltas, line (one line), junk (many), tools or stderr"),
            ("burn", "MS", "use the processor"),
            ("memory", "MIB", "use memory; says how much it got"),
        ],
    ),
    (
        "Tools, provider and notes",
        &[
            ("tool", "NAME", "a tool runs; its result is `text`"),
            ("tool-failed", "NAME", "a tool fails; the run goes on"),
            ("tool-refused", "NAME", "a tool's call is refused before it runs; the run goes on"),
            ("tool-open", "NAME", "a tool starts and does not end"),
            ("environment", "", "the shell tool meets an environment failure; the run goes on"),
            ("retries", "N", "the provider fails N times with `http`, `gap` apart, and then answers"),
            ("stderr", "TEXT", "a line on standard error"),
            ("stderr-bytes", "N", "so many bytes on standard error"),
        ],
    ),
    (
        "Damage",
        &[
            ("raw", "TEXT", "this line, as it is, instead of a record"),
            ("malformed", "", "lines that are not JSON, not an object, not a record"),
            ("blank", "", "empty lines and a line that ends with CR LF"),
            ("partial", "", "half a record, and exit"),
            ("long", "N", "a record of N bytes"),
            ("deep", "N", "a record with N nested lists"),
            ("unknown-record", "", "a record of a type that no build has"),
            ("unknown-kind", "", "known types with kinds, streams and fields that no build has"),
            ("nulls", "", "known types with fields missing, null or of the wrong type"),
            ("invalid-utf8", "", "a delta with bytes that are no UTF-8"),
            ("split-utf8", "TEXT", "a delta with this text, one byte per write"),
        ],
    ),
    (
        "Endings",
        &[
            ("fail", "KIND", "one of the ways below, or any other reason"),
            ("cancelled", "", "terminal record `cancelled`, exit 1"),
            ("no-terminal", "", "no terminal record, exit 0"),
            ("unknown-terminal", "", "terminal record `paused`, exit 0"),
            ("terminal-twice", "", "two terminal records"),
            ("after-terminal", "", "records after the terminal one"),
            ("no-newline", "", "the terminal record is not ended by a line feed"),
            ("exit", "N", "this exit code, whatever the terminal record says"),
            ("crash", "SIGNAL", "die by ABRT, SEGV, KILL, TERM, …"),
            ("stop", "", "stop (SIGSTOP) and go on when continued"),
            ("ignore-term", "", "do not end on SIGTERM, SIGINT and SIGHUP"),
        ],
    ),
    (
        "Processes",
        &[(
            "shape",
            "NAME",
            "children, setsid, daemon, orphan, slow-runner, fast-runner, hold-stdout, stubborn, stopped, bomb or assassin",
        )],
    ),
    (
        "Files",
        &[
            ("out", "NAME", "write out/NAME with `text` or `bytes` bytes"),
            ("fill", "WHAT", "files, deep, fifo, closed, links, names, huge, sparse or hard, `count` of them"),
            ("litter", "", "what the real program leaves behind in its folders"),
        ],
    ),
    (
        "What it sees; the answer is one JSON object",
        &[
            ("report", "", "arguments, environment, folder, descriptors, ids, limits, processes"),
            ("read", "PATH", "open and read a file"),
            ("list", "PATH", "list a folder"),
            ("write", "PATH", "make and write a file"),
            ("append", "PATH", "write to the end of a file"),
            ("remove", "PATH", "remove a file"),
            ("rename", "PATH", "rename a file to a name beside it, and back"),
            ("link", "PATH", "make a hard link to a file in the working folder"),
            ("chmod", "PATH", "set a file's mode to what it is"),
            ("mkdir", "PATH", "make a folder"),
            ("exec", "PATH", "run a program and wait for it"),
            ("connect", "ADDRESS", "open a TCP connection"),
            ("udp", "ADDRESS", "send a datagram"),
            ("unix", "PATH", "connect to a socket"),
            ("listen", "ADDRESS", "listen for TCP"),
            ("signal", "PID", "ask whether a process may be signalled"),
        ],
    ),
];

/// The description of a word, wherever it stands.
pub(crate) fn find(name: &str) -> Option<&'static Word> {
    SETTINGS.iter().chain(STEPS.iter().flat_map(|(_, words)| words.iter())).find(|(known, ..)| *known == name)
}

pub(crate) fn is_setting(name: &str) -> bool {
    SETTINGS.iter().any(|(known, ..)| *known == name)
}

/// What `--help` prints.
pub(crate) fn help() -> String {
    let mut text = String::from(
        "muse-stub stands in for Muse Code: it speaks what `muse exec --json` speaks and does what its prompt's script says.\n\n\
         Usage: muse-stub exec [OPTIONS] [PROMPT]     options as `muse-stub exec --help` lists them\n       \
         muse-stub --version\n\n\
         A script is any number of lines with `@stub WORDS` in the newest message, or in the environment variable\n\
         MUSE_STUB. A word is NAME, NAME=VALUE, NAME=\"JSON string\", or NAME: and the rest of the line.\n\
         `@fm KEY=VALUE …` is understood too, as the benchmarks use it. MUSE_STUB_BUILD=1.3.0, or the name\n\
         muse-stub-1.3.0, makes it act as an older build.\n\n",
    );
    section(&mut text, "How, for a whole line", SETTINGS);
    for (title, words) in STEPS {
        section(&mut text, title, words);
    }
    text.push_str("Ways to fail\n");
    for way in crate::fail::WAYS {
        let _ = writeln!(text, "  {:<24}{}", way.name, way.about);
    }
    text
}

fn section(text: &mut String, title: &str, words: &[Word]) {
    let _ = writeln!(text, "{title}");
    for (name, value, about) in words {
        let word = if value.is_empty() { (*name).to_owned() } else { format!("{name}={value}") };
        let _ = writeln!(text, "  {word:<24}{about}");
    }
    text.push('\n');
}
