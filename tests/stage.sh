#!/usr/bin/env bash
# Builds the static stage and copies it to a directory: stage.sh (debug|release) DIRECTORY. A stage that is not static
# does not start where the sandbox shows no loader.
set -euo pipefail
profile=$1 directory=$2
machine=$(uname -m)
musl=$machine-unknown-linux-musl

flags=()
[[ $profile == release ]] && flags=(--release)
target_directory=${CARGO_TARGET_DIR:-target}
if { command -v rustup >/dev/null && rustup target add "$musl" >/dev/null 2>&1; } ||
    [[ -d $(rustc --print sysroot)/lib/rustlib/$musl ]]; then
    target=$musl
else
    target=$machine-unknown-linux-gnu
    export RUSTFLAGS="${RUSTFLAGS:-} -Ctarget-feature=+crt-static"
fi
cargo build --locked "${flags[@]}" --package confine-stage --target "$target"
mkdir -p "$directory"
# A rename, so that a running one is never written to.
cp "$target_directory/$target/$profile/confine-stage" "$directory/.confine-stage.new"
mv "$directory/.confine-stage.new" "$directory/confine-stage"
