use proptest::prelude::*;

use super::*;

fn endpoint(text: &str) -> Endpoint {
    Endpoint::parse(text, Some(443)).unwrap()
}

fn matches(pattern: &str, text: &str) -> bool {
    HostPattern::parse(pattern).unwrap().matches(&endpoint(text))
}

/// Cases I01 and I02: a rule for a name means that name and nothing that looks like it.
#[test]
fn i01_a_name_is_not_what_ends_or_begins_like_it() {
    for stranger in
        ["evilgithub.com", "github.com.evil.com", "xgithub.com", "github.com-evil.com", "api.github.com"]
    {
        assert!(!matches("github.com", stranger), "{stranger}");
    }
    for stranger in ["evilgithub.com", "github.com", "github.com.evil.com", "xgithub.com"] {
        assert!(!matches("*.github.com", stranger), "{stranger}");
    }
    assert!(matches("github.com", "GitHub.COM."));
    assert!(matches("*.github.com", "api.github.com"));
    assert!(matches("*.github.com", "a.b.github.com"));
}

#[test]
fn a_port_that_is_not_said_is_that_of_https_or_http() {
    assert!(matches("a.example", "a.example:443") && matches("a.example", "a.example:80"));
    assert!(!matches("a.example", "a.example:8443"));
    assert!(matches("a.example:8443", "a.example:8443") && !matches("a.example:8443", "a.example:443"));
}

#[test]
fn a_pattern_is_a_host_and_nothing_around_it() {
    for wrong in
        ["*", "*.com", "*.co.uk", "https://a.example", "a.example/x", "u@a.example", "", ".", "a..b", "a b"]
    {
        assert!(HostPattern::parse(wrong).is_err(), "{wrong}");
    }
}

/// Case I04: what inet_aton(3) or a browser reads as an address is that address.
#[test]
fn i04_every_spelling_of_an_address_is_the_address() {
    let loopback = Host::parse("127.0.0.1").unwrap();
    for spelt in [
        "127.1",
        "127.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "::ffff:127.0.0.1",
    ] {
        assert_eq!(Host::parse(spelt).as_ref(), Ok(&loopback), "{spelt}");
    }
    assert_eq!(Host::parse("[fe80::1%eth0]"), Host::parse("fe80::1"));
    for neither in ["1.2.3.4.5", "0x100000000", "256.1.1.1.1", "1.2.3.0x100000000"] {
        assert!(Host::parse(neither).is_err(), "{neither}");
    }
}

#[test]
fn a_network_means_its_addresses_and_no_names() {
    assert!(matches("10.0.0.0/8", "10.1.2.3") && !matches("10.0.0.0/8", "11.0.0.1"));
    assert!(!matches("10.0.0.0/8", "ten.example"));
    assert!(matches("127.0.0.1", "0x7f.1"));
}

#[test]
fn names_of_other_scripts_are_compared_by_their_labels() {
    assert!(matches("bücher.example", "xn--bcher-kva.example"));
    assert!(matches("*.xn--bcher-kva.example", "a.BÜCHER.example"));
    assert_eq!(Host::from_wire("bücher.example".as_bytes()), Err(HostError::NotAscii));
}

#[test]
fn deny_beats_allow_and_nothing_listed_is_nothing_allowed() {
    let rule = |text| HostPattern::parse(text).unwrap();
    let rules = HostRules { allow: vec![rule("*.a.example")], deny: vec![rule("x.a.example")] };
    assert!(matches!(rules.rule(&endpoint("y.a.example")), Ruling::Allowed(_)));
    assert!(matches!(rules.rule(&endpoint("x.a.example")), Ruling::Denied(_)));
    assert_eq!(rules.rule(&endpoint("b.example")), Ruling::Unlisted);
    assert_eq!(HostRules::default().rule(&endpoint("b.example")), Ruling::Unlisted);
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_read_stays_as_it_is(text in "\\PC{0,40}") {
        let _ = HostPattern::parse(&text);
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host));
        }
        if let Ok(endpoint) = Endpoint::parse(&text, Some(1)) {
            prop_assert_eq!(Endpoint::parse(&endpoint.to_string(), None), Ok(endpoint));
        }
    }

    #[test]
    fn what_is_put_before_or_behind_a_name_makes_another(
        before in "[a-z0-9-]{1,8}", behind in "[a-z]{2,8}",
    ) {
        let allowed = HostPattern::parse("example.org").unwrap();
        for text in [format!("{before}example.org"), format!("{before}.example.org"), format!("example.org.{behind}")] {
            if let Ok(other) = Endpoint::parse(&text, Some(443)) {
                prop_assert!(!allowed.matches(&other), "{}", text);
            }
        }
    }

    #[test]
    fn an_address_is_one_in_each_base(address: u32) {
        let [a, b, c, d] = address.to_be_bytes();
        let own = Ok(Host::Address(std::net::Ipv4Addr::from(address).into()));
        for text in [
            format!("{a}.{b}.{c}.{d}"), format!("{address}"), format!("{address:#x}"), format!("0{address:o}"),
            format!("{a:#x}.0{b:o}.{c}.{d}"), format!("{a}.{b}.{}", u32::from(c) << 8 | u32::from(d)),
        ] {
            prop_assert_eq!(Host::parse(&text), own.clone(), "{}", text);
        }
    }
}
