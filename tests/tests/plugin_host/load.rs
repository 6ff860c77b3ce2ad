use confine_core::egress::Manifest;
use confine_tests::plugin::{Greeting, Helper, Place, built, compile, section};
use confine_tests::{Backend, needs};

use super::{LATE_LIAR, SHAPE, misbehave, place};

/// Every place where a helper can run.
const PLACES: [Place; 3] = [Place::Bare, Place::In(Backend::Bwrap), Place::In(Backend::Landlock)];

#[test]
fn every_plugin_says_at_run_time_the_manifest_that_its_file_holds() {
    needs!(bwrap, landlock, cc);
    let place = place();
    let c = |source| compile(source, place.path(), &["-Wextra", "-Werror"]);
    let plugins = [
        c("examples/egress-c/head.c"),
        c("examples/egress-liar/liar.c"),
        c(LATE_LIAR),
        built("confine_egress_links"),
        built("confine_tool_fetch"),
        misbehave(&place),
    ];
    for plugin in plugins {
        let expected = section(&plugin);
        let manifest = Manifest::parse(&expected).unwrap_or_else(|error| panic!("{plugin:?}: {error}"));
        for place in PLACES {
            let mut helper = Helper::start(&plugin, place, 1, "{}");
            match helper.greeting() {
                Greeting::Hello(1, 56, said) => assert_eq!(said, expected, "{}", manifest.name),
                other => panic!("{plugin:?} {place:?}: {other:?}"),
            }
            let (code, words) = helper.end();
            // In a sandbox whose controller is gone nothing is left to exit.
            assert!(code == Some(0) || place != Place::Bare, "{plugin:?} {place:?}: {words}");
        }
    }
}

#[test]
fn a_smaller_and_a_larger_table_both_work_and_nothing_is_read_beyond_the_smaller() {
    needs!(cc);
    let place = place();
    for (flag, size) in [("-DSMALLER", 48), ("-DLARGER", 80)] {
        let mut helper = Helper::start(&compile(SHAPE, place.path(), &[flag]), Place::Bare, 1, "{}");
        assert!(matches!(helper.greeting(), Greeting::Hello(1, found, _) if found == size), "{flag}");
        let answered = helper.call("{}");
        assert_eq!((answered.code, answered.reply.as_str()), (Some(0), "{}"), "{flag}");
        // Closing the state calls what is behind the smaller table, if anybody reads that far.
        assert_eq!(helper.end().0, Some(0), "{flag}");
    }
}

#[test]
fn a_table_that_is_none_is_refused_and_says_why() {
    needs!(cc);
    let place = place();
    let no_library = place.path().join("text.so");
    std::fs::write(&no_library, "no library").unwrap();
    let shape = |flag: &str| compile(SHAPE, place.path(), &[flag]);
    for (plugin, words) in [
        (
            shape("-DVERSION2"),
            "for version 2 of the plugin interface (`CONFINE_EGRESS_V2`), and this confine has version 1",
        ),
        (shape("-DNONE"), "it exports no `CONFINE_EGRESS_V1`"),
        (shape("-DTINY"), "says that it has 40 bytes, and needs 48"),
        (shape("-DZERO"), "says that it has 0 bytes"),
        (shape("-DABI7"), "for version 7 of the plugin interface, and this confine has version 1"),
        (shape("-DMUTE"), "has no `call`"),
        (shape("-DBARE"), "a manifest of 0 bytes"),
        (shape("-DHUGE_MANIFEST"), "a manifest of 1073741824 bytes"),
        (no_library, "cannot load it: "),
    ] {
        let mut helper = Helper::start(&plugin, Place::Bare, 1, "{}");
        match helper.greeting() {
            Greeting::Refused(reason) => assert!(reason.contains(words), "{reason}"),
            other => panic!("{words}: {other:?}"),
        }
        assert_eq!(helper.ended().0, Some(70), "{words}");
    }
}

#[test]
fn a_broker_that_breaks_the_protocol_ends_the_helper() {
    needs!(cc);
    let place = place();
    let plugin = misbehave(&place);
    for bytes in [&[0xff, 0xff, 0xff, 0xff, 1][..], &[0, 0, 0, 0, 99], &[0, 0, 0, 0, 2]] {
        let mut helper = Helper::greeted(&plugin, Place::Bare);
        helper.says(bytes);
        assert_eq!(helper.ended().0, Some(71), "{bytes:?}");
    }
    // Lanes that were announced and not sent.
    let mut helper = Helper::announced(&plugin, 3, 1);
    assert!(matches!(helper.greeting(), Greeting::Nothing));
    assert_eq!(helper.ended().0, Some(71));
}

#[test]
fn several_lanes_are_several_states_at_once() {
    needs!(bwrap, cc);
    let place = place();
    let mut helper = Helper::start(&misbehave(&place), Place::In(Backend::Bwrap), 3, "{}");
    assert!(matches!(helper.greeting(), Greeting::Hello(..)));
    let wait = confine_core::egress::frame::Frame::Call { input: br#"{"do":"wait"}"# };
    assert!(helper.lanes[0].send(wait) && helper.lanes[1].send(wait));
    assert_eq!(helper.lanes[2].call(r#"{"do":"nothing"}"#).code, Some(0));
    for lane in &mut helper.lanes[..2] {
        assert!(lane.send(confine_core::egress::frame::Frame::Cancel));
        assert_eq!(lane.hears(), Some(confine_tests::plugin::Asked::Done(-5)));
    }
}
