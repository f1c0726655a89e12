#!/usr/bin/env bash
# The units and plists as data: they parse, name only what exists, and are as closed as is promised.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bad=0

# verify wants the programs to be there and the users to exist; neither is on a build machine.
rootless=$(mktemp -d)
trap 'rm -rf "$rootless"' EXIT
for unit in systemd/*; do
    sed -e 's,/usr/local/bin/musegate-[a-z]*,/bin/true,' "$unit" > "$rootless/$(basename "$unit")"
done
said=$(systemd-analyze verify "$rootless"/* 2>&1 || true)
if [ -n "$said" ]; then printf 'systemd-analyze verify:\n%s\n' "$said"; bad=1; fi

for pair in supervisor:15 worker:30; do
    unit=systemd/musegate-${pair%:*}.service most=${pair#*:}
    if systemd-analyze security --no-pager --offline=yes --threshold="$most" "$unit" > "$rootless/report" 2>&1; then
        tail -n 1 "$rootless/report"
    else
        cat "$rootless/report"; echo "$unit is more open than $((most / 10)).$((most % 10))"; bad=1
    fi
done

mapfile -t profiles < <(find sandbox-profiles -name '*.sb')
python3 tests/macos/lint_mac.py launchd/*.plist "${profiles[@]}" --param JOB_DIR --param MUSE || bad=1
exit $bad
