#!/usr/bin/env bash
# Installs what the tests and the demo need and this host lacks, where we may; says what is missing otherwise.
set -euo pipefail

# program:package
wanted=(bwrap:bubblewrap firejail:firejail git:git python3:python3 node:nodejs npm:npm tmux:tmux strace:strace setfattr:attr
    unshare:util-linux cc:gcc musl-gcc:musl-tools)
missing=()
for pair in "${wanted[@]}"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair##*:}")
done
[[ -e /usr/include/stdio.h ]] || missing+=(libc6-dev)

if [[ ${#missing[@]} -gt 0 ]]; then
    as_root=()
    [[ $(id -u) -eq 0 ]] || as_root=(sudo)
    if ! command -v apt-get >/dev/null || { [[ $(id -u) -ne 0 ]] && ! command -v sudo >/dev/null; }; then
        echo "missing, and not ours to install: ${missing[*]}" >&2
        exit 0
    fi
    echo "installing: ${missing[*]}" >&2
    export DEBIAN_FRONTEND=noninteractive
    "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        { "${as_root[@]}" apt-get update -qq && "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null; }
fi

# The compiler that checks the TypeScript client, at the version that its lock file pins.
clients=$(dirname "${BASH_SOURCE[0]}")/clients
lock=$clients/package-lock.json
if command -v npm >/dev/null && ! cmp -s "$lock" "$clients/node_modules/.installed"; then
    npm ci --prefix "$clients" --ignore-scripts --no-audit --no-fund --loglevel=error >/dev/null &&
        cp "$lock" "$clients/node_modules/.installed" || echo "missing, and not to be had: typescript" >&2
fi
