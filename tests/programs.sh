#!/usr/bin/env bash
# Builds confine, its stage and what loads plugins as they are installed, and copies them to a directory: programs.sh
# (debug|release) DIRECTORY. The first two are static where Rust's musl target is here. The stage always is: it also starts where the sandbox
# shows no loader. For confine it halves the time to start.
set -euo pipefail
profile=$1 directory=$2
machine=$(uname -m)
musl=$machine-unknown-linux-musl
gnu=$machine-unknown-linux-gnu

flags=()
[[ $profile == release ]] && flags=(--release)
target_directory=${CARGO_TARGET_DIR:-target}
if { command -v rustup >/dev/null && rustup target add "$musl" >/dev/null 2>&1; } ||
    [[ -d $(rustc --print sysroot)/lib/rustlib/$musl ]]; then
    has_musl=yes
else
    has_musl=no
fi

# Apart, since one call would build the stage with the features that only confine wants of a dependency.
build() {
    local program=$1 target=$2
    cargo build --locked "${flags[@]}" --package "$program" --target "$target"
    # A rename, so that a running one is never written to.
    cp "$target_directory/$target/$profile/$program" "$directory/.$program.new"
    mv "$directory/.$program.new" "$directory/$program"
}

mkdir -p "$directory"
if [[ $has_musl == yes ]]; then
    build confine "$musl"
    build confine-stage "$musl"
else
    build confine "$gnu"
    RUSTFLAGS="${RUSTFLAGS:-} -Ctarget-feature=+crt-static" build confine-stage "$gnu"
fi
# A static program cannot load a library, so this one is not.
build confine-plugin-host "$gnu"
