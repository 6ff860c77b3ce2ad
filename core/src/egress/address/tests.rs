use super::*;

fn forbids(address: &str) -> bool {
    vet(address.parse().unwrap(), 443, &Granted::default()).is_err()
}

#[test]
fn what_is_not_of_the_public_network_is_forbidden() {
    for address in [
        "0.0.0.0",
        "127.0.0.1",
        "127.255.255.254",
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
        "::",
        "::1",
        "fe80::1",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "2001:db8::1",
    ] {
        assert!(forbids(address), "{address}");
    }
    for address in ["1.1.1.1", "140.82.112.3", "172.32.0.1", "100.63.255.255", "2606:4700::1111"] {
        assert!(!forbids(address), "{address}");
    }
}

#[test]
fn an_address_inside_an_address_is_vetted_too() {
    for address in [
        "::ffff:127.0.0.1",
        "::127.0.0.2",
        "2002:7f00:1::",
        "64:ff9b::a00:1",
        "64:ff9b:1::a9fe:a9fe",
        "2001:0:1:2:3:4:80ff:fffe",
    ] {
        assert!(forbids(address), "{address}");
    }
    assert!(!forbids("::ffff:1.1.1.1"));
}

#[test]
fn a_grant_is_for_an_address_on_its_port_and_never_by_name() {
    let rule = |text| HostPattern::parse(text).unwrap();
    let granted = Granted::by_rules(&[rule("127.0.0.1:8080"), rule("10.0.0.0/8"), rule("loop.example")]);
    let vet = |address: &str, port| vet(address.parse().unwrap(), port, &granted).is_ok();
    assert!(vet("127.0.0.1", 8080) && vet("::ffff:127.0.0.1", 8080) && vet("10.9.8.7", 443));
    assert!(!vet("127.0.0.1", 443) && !vet("127.0.0.2", 8080) && !vet("10.9.8.7", 22));
    let named = Granted::default().and_addresses(["::1".parse().unwrap()]);
    assert!(super::vet("::1".parse().unwrap(), 1, &named).is_ok());
    assert!(super::vet("127.0.0.1".parse().unwrap(), 1, &named).is_err());
}

#[test]
fn a_name_with_one_forbidden_address_is_not_reached() {
    let addresses = ["1.1.1.1".parse().unwrap(), "127.0.0.1".parse().unwrap()];
    let forbidden = vet_all(&addresses, 443, &Granted::default()).unwrap_err();
    assert_eq!(forbidden.address, addresses[1]);
}
