use std::collections::BTreeSet;

use super::*;

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn is_dialled(text: &str, granted: &Granted) -> bool {
    vet(address(text), 443, granted).is_ok()
}

#[test]
fn i04_a_private_address_is_refused_however_it_is_held() {
    let none = Granted::default();
    let refused = [
        "127.0.0.1",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "198.18.0.1",
        "fc00::1",
        "fd00:ec2::254",
        "2001:db8::1",
        "::",
        "::1",
        "fe80::1",
        "fd00::1",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::127.0.0.1",
        "::ffff:0:127.0.0.1",
        "64:ff9b::10.0.0.1",
        "64:ff9b:1::10.0.0.1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "2001::5601:5601",
        "2606:4700::5efe:a00:1",
    ];
    for text in refused {
        assert!(!is_dialled(text, &none), "{text}");
    }
    for text in ["93.184.216.34", "172.32.0.1", "1.1.1.1", "2606:4700::1111", "64:ff9b::1.1.1.1"] {
        assert!(is_dialled(text, &none), "{text}");
    }
}

#[test]
fn i04_one_private_address_among_several_refuses_the_name() {
    let none = Granted::default();
    let public = [address("93.184.216.34"), address("1.1.1.1")];
    assert_eq!(vet_all(&public, 80, &none), Ok(()));
    let mixed = [address("93.184.216.34"), address("127.0.0.1")];
    assert_eq!(vet_all(&mixed, 80, &none).map_err(|error| error.address), Err(mixed[1]));
}

#[test]
fn only_an_address_grants_an_address_and_only_on_its_ports() {
    let rules =
        ["10.0.0.0/8:8080", "localhost", "*.example.com"].map(|rule| HostPattern::parse(rule).unwrap());
    let granted = Granted::by_rules(&rules);
    assert_eq!(vet(address("10.1.2.3"), 8080, &granted), Ok(()));
    assert_eq!(vet(address("::ffff:10.1.2.3"), 8080, &granted), Ok(()));
    assert!(vet(address("10.1.2.3"), 443, &granted).is_err(), "another port");
    assert!(vet(address("127.0.0.1"), 443, &granted).is_err(), "a name grants nothing");
    assert!(vet(address("64:ff9b::10.1.2.3"), 8080, &granted).is_err(), "another way to it");
    let named = Granted::default().and_addresses(BTreeSet::from([address("127.0.0.1")]));
    assert!(is_dialled("127.0.0.1", &named) && is_dialled("::ffff:127.0.0.1", &named));
    assert!(!is_dialled("127.0.0.2", &named));
}

#[test]
fn the_narrower_row_comes_first_so_that_the_reason_is_the_right_one() {
    let reason = |text| vet(address(text), 80, &Granted::default()).unwrap_err().row.what;
    assert_eq!(reason("169.254.169.254"), "the metadata service of a cloud");
    assert_eq!(reason("169.254.1.1"), "link-local");
    for (at, row) in TABLE.iter().enumerate() {
        let hidden = TABLE[..at].iter().any(|wider| wider.network.contains(&row.network));
        assert!(!hidden, "{}", row.network);
    }
}
