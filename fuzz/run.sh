#!/usr/bin/env bash
# Fuzzes on the stable toolchain.
#
#   fuzz/run.sh [SECONDS] [TARGET…]        each target (default: all) for SECONDS (default: 30); fails on the first finding
#   fuzz/run.sh --minimise [TARGET…]       merges what was found by earlier runs into the committed corpus, smallest first
#   fuzz/run.sh --list                     the targets
#
# A finding is written to fuzz/target/findings/TARGET/ and its input is printed: it becomes a unit test of its room.
# Inputs that reached something new stay in fuzz/target/corpus/TARGET/ for the next run.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

minimise=
case "${1:-}" in
    --minimise) minimise=yes; shift ;;
    --list) grep -o 'target("[a-z0-9-]*"' src/lib.rs | cut -d'"' -f2; exit ;;
esac
seconds=30
[[ "${1:-}" =~ ^[0-9]+$ ]] && { seconds=$1; shift; }
targets=("$@")
[ ${#targets[@]} -gt 0 ] || mapfile -t targets < <(./run.sh --list)

# What cargo-fuzz sets on nightly, less the sanitizers. Only for the target: build scripts must not be instrumented.
host=$(rustc -vV | sed -n 's/^host: //p')
coverage=(-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares)
RUSTFLAGS="${coverage[*]} --cfg fuzzing" cargo build --quiet --locked --release --target "$host"
program=$PWD/target/$host/release/fuzz

for target in "${targets[@]}"; do
    max_len=$(sed -n "s/.*target(\"$target\", \([0-9]*\),.*/\1/p" src/lib.rs)
    [ -n "$max_len" ] || { echo "$target is no target; there are: $(./run.sh --list | tr '\n' ' ')"; exit 64; }
    found=target/corpus/$target kept=corpus/$target findings=target/findings/$target
    mkdir -p "$found" "$kept" "$findings"
    export MUSEGATE_FUZZ=$target
    limits=(-max_len="$max_len" -rss_limit_mb=512 -timeout=10 -verbosity=0 -artifact_prefix="$findings/")
    if [ -n "$minimise" ]; then
        fresh=$(mktemp -d)
        "$program" -merge=1 "${limits[@]}" "$fresh" "$kept" "$found" 2>/dev/null
        rm -rf "$kept" && mkdir -p "$kept"
        # Not all that reaches something new is worth keeping: the smallest inputs, 128 KiB of them at most.
        room=131072
        while read -r size file; do
            room=$((room - size)); [ $room -gt 0 ] || break
            cp "$file" "$kept/"
        done < <(find "$fresh" -type f -printf '%s %p\n' | sort -n)
        rm -rf "$fresh"
        printf '%-18s %5d inputs, %7d bytes\n' "$target" "$(find "$kept" -type f | wc -l)" "$(cat "$kept"/* | wc -c)"
        continue
    fi
    log=$findings/log
    if "$program" "${limits[@]}" -max_total_time="$seconds" -print_final_stats=1 "$found" "$kept" >"$log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
        rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
        rss=$(sed -n 's/^stat::peak_rss_mb: *//p' "$log")
        printf '%-18s ok  %10d runs  %8d/s  %4d MiB\n' "$target" "$runs" "$rate" "$rss"
    else
        tail -40 "$log"
        echo "$target: a finding, in fuzz/$findings/"
        exit 1
    fi
done
