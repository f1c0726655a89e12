#!/usr/bin/env python3
"""Real A2A clients, unmodified, against a real pair with the bundled stand-in agent.

    run.py --clients FOLDER --musegate PATH        FOLDER as made by setup.sh

Each client sends and gets the text, is refused with a wrong token, sees busy, sees a failed Task, continues a
conversation; those that can also stream and use REST. Loopback only; the pair is ended at the end.
"""
import argparse, json, os, pathlib, re, shutil, signal, socket, subprocess, sys, tempfile, time, urllib.error, urllib.request

parser = argparse.ArgumentParser()
parser.add_argument("--clients", required=True, type=pathlib.Path)
parser.add_argument("--musegate", required=True, type=pathlib.Path)
parser.add_argument("--only", default="", help="names of clients, comma separated")
options = parser.parse_args()
HERE = pathlib.Path(__file__).resolve().parent
MUSEGATE = options.musegate.resolve()
CLIENTS = options.clients.resolve()
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Pair:
    """A pair with a configuration folder of its own, one slot and two callers."""

    def __init__(self):
        memory = "/dev/shm" if os.path.isdir("/dev/shm") else None
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="musegate-interop-", dir=memory))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.musegate("up", "--init")
        stub = self.folder / "muse-stub"
        stub.symlink_to(MUSEGATE)
        self.set("worker.toml", "muse", "path", json.dumps(str(stub)))
        self.set("supervisor.toml", "listen", "addresses", json.dumps([f"127.0.0.1:{self.port}"]))
        self.tokens = {name: self.musegate("token", "add", name).strip() for name in ("sdk", "hermes")}
        callers = self.folder / "callers.toml"
        callers.write_text(callers.read_text().replace("[callers.hermes]", '[callers.hermes]\nbusy = "rpc"'))
        self.log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen([MUSEGATE, "--config-dir", self.folder, "up"], stdin=subprocess.DEVNULL,
                                        stdout=self.log, stderr=self.log, start_new_session=True)
        self.wait_until_it_answers()

    def musegate(self, *arguments):
        command = [MUSEGATE, "--config-dir", self.folder, *arguments]
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout

    def set(self, file, section, key, value):
        path, here, out = self.folder / file, "", []
        for line in path.read_text().splitlines():
            if m := re.fullmatch(r"\[(.+)\]", line):
                here = m[1]
            if here == section and re.match(rf"#? ?{key} = ", line):
                line = f"{key} = {value}"
            out.append(line)
        path.write_text("\n".join(out) + "\n")

    def rpc(self, method, params, caller="sdk"):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0", "Authorization": f"Bearer {self.tokens[caller]}"}
        with OPENER.open(urllib.request.Request(self.url + "/", body, headers), timeout=30) as answer:
            return json.load(answer)

    def send(self, text, caller="sdk", **configuration):
        message = {"messageId": os.urandom(8).hex(), "role": "ROLE_USER", "parts": [{"text": text}]}
        return self.rpc("SendMessage", {"message": message, "configuration": configuration}, caller)

    def wait_until_it_answers(self):
        deadline = time.monotonic() + 30
        while True:
            try:
                if "result" in self.send("hello"):
                    return
            except (OSError, urllib.error.HTTPError) as error:
                last = error
            else:
                last = None
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.stop()
                sys.exit(f"the pair does not answer: {last}\n{(self.folder / 'log').read_text()}")
            time.sleep(0.05)

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)

    def busy(self, caller):
        """Takes the only slot until the returned function is called."""
        task = self.send("@stub hang", caller, returnImmediately=True)["result"]["task"]["id"]
        return lambda: self.rpc("CancelTask", {"id": task}, caller)


class Client:
    def __init__(self, name, command, caller="sdk", flags=()):
        self.name, self.command, self.caller, self.flags = name, command, caller, list(flags)

    def call(self, pair, text, token=None, context=None):
        token = token or pair.tokens[self.caller]
        command = self.command(pair.url, text, token, context) + self.flags
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")}
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=90,
                              cwd=CLIENTS, env=environment)
        return done.stdout


def python(folder, script):
    def command(url, text, token, context):
        more = ["--context", context] if context else []
        return [str(CLIENTS / folder / "bin/python"), str(HERE / script), url, text, "--token", token, *more]
    return command


def javascript(folder, script):
    def command(url, text, token, context):
        more = ["--context", context] if context else []
        return ["node", str(CLIENTS / folder / script), url, text, "--token", token, *more]
    return command


def hermes(url, text, token, context):
    more = ["--context", context] if context else []
    return [str(CLIENTS / "hermes/bin/python"), str(HERE / "hermes_call.py"), "--url", url, "--token", token,
            "--timeout", "60", *more, "call", text]


def hermes_stream(url, text, token, context):
    return [sys.executable, str(HERE / "hermes_stream_like.py"), url, token, text, "60"]


ALL = [
    Client("hermes", hermes, "hermes"),
    Client("hermes streaming", hermes_stream, "hermes"),
    Client("a2a-sdk 1.3", python("py13", "py_client.py")),
    Client("a2a-sdk 1.3 stream", python("py13", "py_client.py"), flags=["--stream"]),
    Client("a2a-sdk 1.3 REST", python("py13", "py_client.py"), flags=["--rest"]),
    Client("a2a-sdk 1.3 REST stream", python("py13", "py_client.py"), flags=["--rest", "--stream"]),
    Client("a2a-js 1.3", javascript("js13", "js_client.mjs")),
    Client("a2a-js 1.3 stream", javascript("js13", "js_client.mjs"), flags=["--stream"]),
    Client("a2a-js 1.3 REST", javascript("js13", "js_client.mjs"), flags=["--rest"]),
    Client("a2a-js 1.3 as 0.3", javascript("js13", "js_client.mjs"), flags=["--legacy"]),
    Client("a2a-sdk 0.3.26", python("py03", "py03_client.py")),
    Client("a2a-sdk 0.3.26 stream", python("py03", "py03_client.py"), flags=["--stream"]),
    Client("a2a-js 0.3.14", javascript("js03", "js03_client.mjs")),
    Client("a2a-js 0.3.14 stream", javascript("js03", "js03_client.mjs"), flags=["--stream"]),
]
NO_CONTEXT = {"hermes streaming", "a2a-js 0.3.14", "a2a-js 0.3.14 stream"}  # their scripts take none


def checks(pair, client):
    yield "gets the text", client.call(pair, '@stub answer="a lantern at sea"'), "a lantern at sea"
    wrong = "mgt_" + "0" * 49
    yield "is refused with a wrong token", client.call(pair, "hi", token=wrong), r"401|[Uu]nauthori[sz]ed|authentication is needed"
    done = pair.busy(client.caller)
    try:
        yield "sees busy", client.call(pair, "hi"), r"503|[Bb]usy"
    finally:
        done()
    yield "sees a failed Task", client.call(pair, "@stub fail=billing"), r"(?i)failed|quota|billing"
    if client.name not in NO_CONTEXT:
        context = "ctx-" + os.urandom(6).hex()
        client.call(pair, '@stub answer="the harbour is called Brightwater"', context=context)
        yield "continues a conversation", client.call(pair, "@stub history", context=context), "Brightwater"


def main():
    wanted = [name for name in options.only.split(",") if name]
    pair, failed, passed = Pair(), [], 0
    try:
        for client in ALL:
            if wanted and not any(client.name.startswith(name) for name in wanted):
                continue
            for what, said, pattern in checks(pair, client):
                good = re.search(pattern, said) is not None
                passed += good
                print(f"{'ok' if good else 'NOT OK':7}{client.name}: {what}", flush=True)
                if not good:
                    failed.append(f"{client.name}: {what}\n    wanted {pattern!r}, it said:\n    {said.strip()[-1500:]}")
    finally:
        pair.stop()
    left = subprocess.run(["pgrep", "-f", str(pair.folder)], text=True, stdout=subprocess.PIPE).stdout.split()
    if left:
        failed.append(f"processes are left behind: {left}")
    print(f"\n{passed} passed, {len(failed)} failed")
    for one in failed:
        print(one)
    if failed:
        print((pair.folder / "log").read_text()[-3000:])
    shutil.rmtree(pair.folder, ignore_errors=True)
    sys.exit(1 if failed or not passed else 0)


main()
