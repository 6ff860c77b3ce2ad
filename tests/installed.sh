#!/usr/bin/env bash
# Runs a command with CONFINE_TEST_BIN naming a directory that holds what confine installs, and that every user
# can reach: installed.sh COMMAND…. The checkout itself may lie below a directory that only its owner may enter.
set -euo pipefail
place=$(mktemp -d "${CONFINE_TEST_PLACE:-/opt}/confine-test-XXXXXX" 2>/dev/null || mktemp -d "$PWD/target/confine-test-XXXXXX")
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
"$(dirname "${BASH_SOURCE[0]}")/programs.sh" debug "$place"
CONFINE_TEST_BIN=$place "$@"
