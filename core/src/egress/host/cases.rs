use proptest::prelude::*;

use super::*;

fn endpoint(text: &str) -> Result<Endpoint, HostError> {
    Endpoint::from_wire(text.as_bytes(), Some(443))
}

fn rules(allow: &[&str], deny: &[&str]) -> HostRules {
    let read = |list: &[&str]| list.iter().map(|text| HostPattern::parse(text).unwrap()).collect();
    HostRules { allow: read(allow), deny: read(deny) }
}

fn is_allowed(rules: &HostRules, text: &str) -> bool {
    endpoint(text).is_ok_and(|endpoint| matches!(rules.rule(&endpoint), Ruling::Allowed(_)))
}

#[test]
fn i01_labels_are_matched_whole() {
    let rules = rules(&["github.com", "*.example.com"], &[]);
    for allowed in
        ["github.com:443", "GITHUB.COM:443", "github.com.:443", "a.b.example.com:443", "github.com:80"]
    {
        assert!(is_allowed(&rules, allowed), "{allowed}");
    }
    let refused = [
        "evilgithub.com:443",
        "github.com.evil.com:443",
        "xexample.com:443",
        "example.com:443",
        "a.github.com:443",
        "github.com%2eevil.com:443",
        "user@evil.com:443",
        "github.com@evil.com:443",
        "github.com..:443",
        "github.com:22",
        "github.com\0.evil.com:443",
        "github.com/evil.com:443",
    ];
    for refused in refused {
        assert!(!is_allowed(&rules, refused), "{refused}");
    }
    assert_eq!(endpoint("user@github.com:443"), Err(HostError::Userinfo));
    assert_eq!(endpoint("github.com%2eevil.com:443"), Err(HostError::Percent));
}

#[test]
fn i02_an_exact_name_means_no_name_below_it() {
    let rules = rules(&["api.github.com"], &[]);
    assert!(is_allowed(&rules, "api.github.com:443"));
    assert!(!is_allowed(&rules, "evil.api.github.com:443"));
    assert!(!is_allowed(&rules, "github.com:443"));
    let refused = [
        ("com", PatternFault::PublicSuffix("com".into())),
        ("*.com", PatternFault::PublicSuffix("com".into())),
        ("*.co.uk", PatternFault::PublicSuffix("co.uk".into())),
        ("*.github.io", PatternFault::PublicSuffix("github.io".into())),
        ("*", PatternFault::Everything),
        ("*:443", PatternFault::Everything),
        ("", PatternFault::Host(HostError::Empty)),
        ("*.", PatternFault::Host(HostError::Empty)),
        ("*.*.example.com", PatternFault::Star),
        ("a*.example.com", PatternFault::Star),
        ("a.*.example.com", PatternFault::Star),
    ];
    for (text, fault) in refused {
        assert_eq!(HostPattern::parse(text).map_err(|error| error.fault), Err(fault), "{text}");
    }
}

#[test]
fn deny_beats_allow_and_an_empty_list_allows_nothing() {
    let both = rules(&["*.example.com", "10.0.0.0/8"], &["secret.example.com", "10.1.0.0/16"]);
    assert!(is_allowed(&both, "open.example.com"));
    assert!(!is_allowed(&both, "secret.example.com"));
    assert!(is_allowed(&both, "10.2.0.1"));
    assert!(!is_allowed(&both, "10.1.0.1"));
    assert!(!is_allowed(&HostRules::default(), "example.com"));
    let held: IpAddr = "64:ff9b::10.1.0.1".parse().unwrap();
    assert!(both.denial(held, 443).is_some(), "an address that holds a denied one");
}

#[test]
fn every_spelling_of_an_address_is_that_address() {
    let loopback = [
        "127.0.0.1",
        "127.0.0.1.",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f.1",
        "0X7F000001",
        "2130706433",
        "017700000001",
        "0x7f.0x0.0x0.0x1",
        "127.0.0.01",
        "00000177.1",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[0:0:0:0:0:ffff:7f00:0001]",
        "127.0x.0.1",
        "127.0.0.0x1",
        "127。0。0。1",
        "127.0.0.１",
    ];
    for spelling in loopback {
        let host = Host::parse(spelling);
        assert_eq!(host, Ok(Host::Address([127, 0, 0, 1].into())), "{spelling}");
    }
    let zoned = Host::parse("[fe80::1%eth0]");
    assert_eq!(zoned, Host::parse("[fe80::1]"));
    for number in
        ["1.2.3.4.5", "256.1.1.1", "1.2.3.256", "4294967296", "08.1.1.1", "a.1", "1..1", "0x1g.0x1", "a.0x"]
    {
        let host = Host::parse(number);
        assert!(!matches!(host, Ok(Host::Address(_))), "{number}: {host:?}");
    }
    assert_eq!(Host::parse("a.1"), Err(HostError::Number));
}

#[test]
fn a_rule_is_written_as_what_it_is_and_its_help_shows_that() {
    let table = [
        ("https://example.com/path", "write `example.com`"),
        ("user@example.com", "write `example.com`"),
        ("example.com/path", "write `example.com`"),
        ("127.1", "write `127.0.0.1`"),
        ("10.0.0.1/8", "write `10.0.0.0/8`"),
        ("0.0.0.0/0", "write a network, such as `10.0.0.0/8`, or `[fd00::]/8`"),
        ("*.10.0.0.1", "write a network, such as `10.0.0.0/8`"),
        ("example.com:0", "write `HOST:PORT`"),
        ("example.com:+1", "write `HOST:PORT`"),
        ("::1", "write `[::1]`"),
    ];
    for (text, help) in table {
        assert_eq!(HostPattern::parse(text).unwrap_err().help, help, "{text}");
    }
}

#[test]
fn names_of_other_scripts_are_their_a_labels() {
    let rules = rules(&["bücher.example"], &[]);
    assert!(is_allowed(&rules, "xn--bcher-kva.example"));
    assert!(is_allowed(&rules, "XN--BCHER-KVA.example"));
    assert_eq!(Endpoint::from_wire("bücher.example:443".as_bytes(), None), Err(HostError::NotAscii));
    assert_eq!(Host::parse("gıthub.com").unwrap().to_string(), "xn--gthub-n4a.com", "no look-alike");
}

#[test]
fn a_name_is_never_a_network_and_an_address_never_a_name() {
    let rules = rules(&["10.0.0.0/8", "*.example.com"], &[]);
    assert!(is_allowed(&rules, "10.9.8.7"));
    assert!(is_allowed(&rules, "0xa.1"));
    assert!(is_allowed(&rules, "[::ffff:10.0.0.1]"));
    assert!(!is_allowed(&rules, "10.0.0.1.example.org"));
    assert!(!is_allowed(&rules, "11.0.0.1"));
}

fn label() -> impl Strategy<Value = String> {
    "[a-z0-9]([a-z0-9]{0,6}[a-z])?".prop_filter("a prefix that IDNA reads", |label| !label.starts_with("xn"))
}

fn name() -> impl Strategy<Value = String> {
    prop::collection::vec(label(), 1..4).prop_map(|labels| format!("{}.example.org", labels.join(".")))
}

proptest! {
    #[test]
    fn nothing_panics(text in any::<String>(), bytes in any::<Vec<u8>>()) {
        let _ = (Host::parse(&text), HostPattern::parse(&text), Endpoint::parse(&text, Some(1)));
        let _ = (Host::from_wire(&bytes), Endpoint::from_wire(&bytes, None));
    }

    #[test]
    fn nothing_panics_near_the_grammar(text in r"[0-9a-fxX.:*%@/\[\]\\o。１-]{0,24}") {
        let _ = (HostPattern::parse(&text), Endpoint::parse(&text, None));
    }

    #[test]
    fn a_host_in_its_form_stays_it(text in r"[0-9a-fA-FxX.:%\[\]ü。-]{1,20}") {
        if let Ok(host) = Host::parse(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host.clone()));
            let endpoint = Endpoint { host, port: 8443 };
            prop_assert_eq!(Endpoint::parse(&endpoint.to_string(), None), Ok(endpoint));
        }
    }

    #[test]
    fn a_rule_in_its_form_stays_it(text in r"(\*\.)?[0-9a-f.:\[\]]{1,16}(/[0-9]{1,3})?(:[0-9]{1,5})?") {
        if let Ok(rule) = HostPattern::parse(&text) {
            prop_assert_eq!(HostPattern::parse(&rule.to_string()), Ok(rule));
        }
    }

    #[test]
    fn letters_before_a_name_and_labels_behind_it_make_another(name in name(), more in label()) {
        let exact = rules(&[&name], &[]);
        let below = rules(&[&format!("*.{name}")], &[]);
        let (child, root) = (format!("{more}.{name}"), format!("{}.", name.to_uppercase()));
        prop_assert!(is_allowed(&exact, &name) && !is_allowed(&below, &name));
        prop_assert!(is_allowed(&below, &child) && !is_allowed(&exact, &child));
        for other in [format!("{more}{name}"), format!("{more}-{name}"), format!("{name}.{more}.net")] {
            prop_assert!(!is_allowed(&exact, &other), "{}", other);
        }
        for other in [format!("x{name}"), format!("{name}.{more}.net")] {
            prop_assert!(!is_allowed(&below, &other), "{}", other);
        }
        prop_assert!(is_allowed(&exact, &root));
        prop_assert!(!is_allowed(&rules(&[&name], &[&name]), &name));
    }

    #[test]
    fn every_way_to_write_four_bytes_is_read(bytes: [u8; 4], radix in prop::collection::vec(0..3_u8, 4), parts in 1..5_usize) {
        let number = u32::from_be_bytes(bytes);
        let spelled = |value: u32, radix: u8| match radix {
            0 => format!("{value}"),
            1 => format!("0{value:o}"),
            _ => format!("0x{value:X}"),
        };
        let rest = number & u32::try_from(u64::from(u32::MAX) >> (8 * (parts - 1))).unwrap();
        let mut words: Vec<String> =
            bytes.iter().zip(&radix).take(parts - 1).map(|(byte, radix)| spelled((*byte).into(), *radix)).collect();
        words.push(spelled(rest, radix[3]));
        prop_assert_eq!(Host::parse(&words.join(".")), Ok(Host::Address(bytes.into())));
        let mapped = format!("[::ffff:{:x}:{:x}]", number >> 16, number & 0xffff);
        prop_assert_eq!(Host::parse(&mapped), Ok(Host::Address(bytes.into())));
    }
}
