//! Classification without a host.
