//! The `confine-plugin-host` command: see the library.

#![forbid(unsafe_code)]

fn main() {
    confine_plugin_host::main()
}
