#!/usr/bin/env bash
# A pair for a benchmark, in the foreground: serve.sh PORT TOKEN [WORKER-SETTING…]
# Settings are those of production but for the bounds that a load would meet on purpose: slots, rates, sizes of answers.
# MUSEGATE: the program (default target/release/musegate). MUSEGATE_STUB: the agent (default: the program as stand-in).
# Ends at SIGTERM to its process group; its folder goes with it.
set -euo pipefail
port=$1 token=$2; shift 2
program=$(realpath "${MUSEGATE:-target/release/musegate}")
stub=$(realpath "${MUSEGATE_STUB:-$program}")
base=/dev/shm; [ -d $base ] || base=${TMPDIR:-/tmp}
home=$(mktemp -d "$base/mg-XXXXXX")
trap 'rm -rf "$home"' EXIT
trap 'wait; exit 0' TERM INT
umask 077
mkdir -m 700 "$home/run" "$home/j"
muse=$home/fakemuse; [ "$stub" != "$program" ] || muse=$home/muse-stub # under that name the program is the stand-in
cp "$stub" "$muse"
root=; [ "$(id -u)" -ne 0 ] || root='allow_root = true'
cat > "$home/supervisor.toml" <<S
$root
[listen]
addresses = ["127.0.0.1:$port"]
max_connections = 16384
[worker]
socket = "$home/run/worker.sock"
[callers]
rate_per_minute = 0
failed_logins_per_minute = 0
[jobs]
slots = 1024
[tasks]
answer = "128 MiB"
max_bytes = "256 MiB"
[log]
level = "warn"
S
cat > "$home/worker.toml" <<W
$root
[socket]
path = "$home/run/worker.sock"
[muse]
path = "$muse"
[jobs]
slots = 1024
scratch = "$home/j"
[limits]
output = "128 MiB"
line = "64 MiB"
[log]
level = "warn"
W
[ $# -eq 0 ] || printf '%s\n' "$@" >> "$home/worker.toml"
printf '[callers.bench]\nrate_per_minute = 0\nchunks = "raw"\noutput = "128 MiB"\n' > "$home/callers.toml"
printf %s "$token" | "$program" --config-dir "$home" token import bench 2>/dev/null
mkfifo "$home/end"; exec 8<>"$home/end" 9<"$home/end" # both end when their stdin does
"$program" __worker --config "$home/worker.toml" <&9 &
"$program" __supervisor --config "$home/supervisor.toml" <&9 &
wait
