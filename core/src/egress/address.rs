//! Addresses that a name must not lead to: the broker vets every address before it dials it.
//!
//! An IPv6 address that holds an IPv4 one is vetted as both. What is in the [table](TABLE) is reached only where it was
//! [granted](Granted): by an address or a network in the user's own rules, or by a static name.

#[cfg(test)]
mod cases;
mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use crate::egress::host::{HostName, HostPattern};

pub use table::{Row, TABLE};

/// An address that is not reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{address}` is {} ({}), and was not granted", row.what, row.source)]
pub struct Forbidden {
    /// As the name resolved, or as it was written.
    pub address: IpAddr,
    /// Why.
    pub row: &'static Row,
}

/// Addresses of the table that the user named on purpose.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Granted {
    networks: Vec<(IpNet, Vec<u16>)>,
    addresses: BTreeSet<IpAddr>,
}

/// Names and the addresses that they stand for, instead of looking them up. An address written here counts as granted.
pub type StaticNames = BTreeMap<HostName, BTreeSet<IpAddr>>;

impl Granted {
    /// What the user's rules grant: addresses and networks, on their ports. A name grants nothing: who answers for it is
    /// not the user.
    pub fn by_rules<'r>(rules: impl IntoIterator<Item = &'r HostPattern>) -> Self {
        let granted = |rule: &HostPattern| Some((rule.network()?, rule.ports().to_vec()));
        Self { networks: rules.into_iter().filter_map(granted).collect(), addresses: BTreeSet::new() }
    }

    /// And what a static name of the user's stands for.
    #[must_use]
    pub fn and_addresses(mut self, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.addresses.extend(addresses.into_iter().map(unmapped));
        self
    }

    fn holds(&self, address: IpAddr, port: u16) -> bool {
        let mut networks = self.networks.iter();
        self.addresses.contains(&address)
            || networks.any(|(network, ports)| ports.contains(&port) && network.contains(&address))
    }
}

/// Whether `address` may be dialled at `port`.
///
/// # Errors
/// The row of the table that forbids it.
pub fn vet(address: IpAddr, port: u16, granted: &Granted) -> Result<(), Forbidden> {
    if granted.holds(unmapped(address), port) {
        return Ok(());
    }
    let row = readings(address).find_map(|reading| TABLE.iter().find(|row| row.network.contains(&reading)));
    row.map_or(Ok(()), |row| Err(Forbidden { address, row }))
}

/// Whether all of `addresses` may be dialled: a name that has one that may not is not reached at all.
///
/// # Errors
/// As [`vet`], of the first.
pub fn vet_all<'a>(
    addresses: impl IntoIterator<Item = &'a IpAddr>,
    port: u16,
    granted: &Granted,
) -> Result<(), Forbidden> {
    addresses.into_iter().try_for_each(|address| vet(*address, port, granted))
}

/// The IPv4 address where `address` is one mapped to IPv6 (`::ffff:0:0/96`, RFC 4291, 2.5.5.2): the kernel dials that.
pub const fn unmapped(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// `address`, and every IPv4 address that it holds and that a network on the way may deliver it to.
pub fn readings(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let address = unmapped(address);
    let held = match address {
        IpAddr::V4(_) => [None; 3],
        IpAddr::V6(address) => [leading(address), trailing(address), teredo(address)],
    };
    std::iter::once(address).chain(held.into_iter().flatten().map(IpAddr::V4))
}

/// 6to4 (`2002::/16`, RFC 3056).
fn leading(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x2002, high, low, ..] = address.segments() else { return None };
    Some(joined(high, low))
}

/// IPv4-compatible (`::/96`, RFC 4291), translated (`::ffff:0:0:0/96`, RFC 2765), NAT64 (`64:ff9b::/96`, RFC 6052, and
/// `64:ff9b:1::/48`, RFC 8215, with a prefix of 96 bits) and ISATAP (RFC 5214, whatever the prefix).
fn trailing(address: Ipv6Addr) -> Option<Ipv4Addr> {
    match address.segments() {
        // The unspecified address and loopback hold none.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low] => Some(joined(high, low)),
        _ => None,
    }
}

/// Teredo (`2001::/32`, RFC 4380): the client's address, inverted.
fn teredo(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x2001, 0, _, _, _, _, high, low] = address.segments() else { return None };
    Some(joined(!high, !low))
}

fn joined(high: u16, low: u16) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(high) << 16 | u32::from(low))
}
