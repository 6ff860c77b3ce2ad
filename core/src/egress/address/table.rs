//! The table: each network with its name and its source, the narrower first.

use std::net::{Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// One network that is not reached unless it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Which.
    pub network: IpNet,
    /// What it is, to complete "the address is …".
    pub what: &'static str,
    /// Who says so.
    pub source: &'static str,
}

const fn v4(address: [u8; 4], prefix: u8, what: &'static str, source: &'static str) -> Row {
    let [a, b, c, d] = address;
    let network = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), prefix));
    Row { network, what, source }
}

const fn v6(address: [u16; 8], prefix: u8, what: &'static str, source: &'static str) -> Row {
    let [a, b, c, d, e, f, g, h] = address;
    let network = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::new(a, b, c, d, e, f, g, h), prefix));
    Row { network, what, source }
}

/// The first row that holds an address says why.
#[rustfmt::skip]
pub const TABLE: &[Row] = &[
    v4([169, 254, 169, 254], 32, "the metadata service of a cloud", "AWS, Azure, Google Cloud, OpenStack"),
    v4([169, 254, 170, 2], 32, "the credentials of a container", "AWS ECS task metadata"),
    v4([169, 254, 170, 23], 32, "the credentials of a container", "AWS EKS pod identity"),
    v4([100, 100, 100, 200], 32, "the metadata service of a cloud", "Alibaba Cloud"),
    v4([168, 63, 129, 16], 32, "the platform service of a cloud", "Azure WireServer"),
    v4([192, 0, 0, 192], 32, "the metadata service of a cloud", "Oracle Cloud"),
    v4([0, 0, 0, 0], 32, "unspecified, which Linux takes for loopback", "RFC 1122, 3.2.1.3"),
    v4([0, 0, 0, 0], 8, "of this network", "RFC 791, 3.2"),
    v4([10, 0, 0, 0], 8, "private", "RFC 1918"),
    v4([100, 64, 0, 0], 10, "shared behind a carrier's translation", "RFC 6598"),
    v4([127, 0, 0, 0], 8, "loopback", "RFC 1122, 3.2.1.3"),
    v4([169, 254, 0, 0], 16, "link-local", "RFC 3927"),
    v4([172, 16, 0, 0], 12, "private", "RFC 1918"),
    v4([192, 0, 0, 0], 24, "reserved for protocols", "RFC 6890, 2.1"),
    v4([192, 0, 2, 0], 24, "for documentation", "RFC 5737"),
    v4([192, 31, 196, 0], 24, "an anycast sink", "RFC 7535"),
    v4([192, 52, 193, 0], 24, "an anycast relay", "RFC 7450"),
    v4([192, 88, 99, 0], 24, "an anycast relay", "RFC 7526"),
    v4([192, 168, 0, 0], 16, "private", "RFC 1918"),
    v4([192, 175, 48, 0], 24, "an anycast sink", "RFC 7534"),
    v4([198, 18, 0, 0], 15, "for benchmarks", "RFC 2544"),
    v4([198, 51, 100, 0], 24, "for documentation", "RFC 5737"),
    v4([203, 0, 113, 0], 24, "for documentation", "RFC 5737"),
    v4([224, 0, 0, 0], 4, "multicast", "RFC 5771"),
    v4([255, 255, 255, 255], 32, "broadcast", "RFC 919, 7"),
    v4([240, 0, 0, 0], 4, "reserved", "RFC 1112, 4"),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128, "the metadata service of a cloud", "AWS"),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128, "the credentials of a container", "AWS EKS pod identity"),
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, "the metadata service of a cloud", "Google Cloud"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified, which Linux takes for loopback", "RFC 4291, 2.5.2"),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback", "RFC 4291, 2.5.3"),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, "IPv4-compatible, which is deprecated", "RFC 4291, 2.5.5.1"),
    v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "translated from IPv4", "RFC 2765"),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "for translation inside a network", "RFC 8215"),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discarded", "RFC 6666"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, "a Teredo tunnel", "RFC 4380"),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, "for benchmarks", "RFC 5180"),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "for documentation", "RFC 3849"),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "reserved for protocols", "RFC 2928"),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "a 6to4 tunnel", "RFC 7526"),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "for documentation", "RFC 9637"),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "a segment of a route", "RFC 9602"),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "unique local", "RFC 4193"),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local", "RFC 4291, 2.5.6"),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "site-local", "RFC 3879"),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast", "RFC 4291, 2.7"),
];
