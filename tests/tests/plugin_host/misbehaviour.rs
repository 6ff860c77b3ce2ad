use std::net::TcpListener;
use std::path::Path;

use confine_core::egress::frame::Frame;
use confine_tests::plugin::{Answered, Asked, Helper, Place, compile};
use confine_tests::{Backend, needs};
use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{LATE_LIAR, misbehave, place};

/// What becomes of a helper that was told to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// It has answered, and answers again.
    Works,
    /// It has answered, and has ended with this code, so that the next call gets a new one.
    Answered(i32),
    /// It has ended without an answer, by this code or by a signal.
    Lost(Option<i32>),
}

const TABLE: &[(&str, Then)] = &[
    ("nothing", Then::Works),
    ("code", Then::Works),
    ("denied", Then::Works),
    ("environment", Then::Works),
    ("intrude", Then::Works),
    ("crash", Then::Lost(None)),
    ("abort", Then::Lost(None)),
    ("exit", Then::Lost(Some(0))),
    ("close", Then::Lost(Some(72))),
    ("threads", Then::Answered(73)),
    ("storm", Then::Answered(73)),
    ("leak", Then::Answered(73)),
    ("signals", Then::Answered(73)),
    ("alarm", Then::Answered(73)),
];

fn doing(what: &str) -> String {
    format!(r#"{{"do":"{what}"}}"#)
}

#[test]
fn whatever_a_plugin_does_costs_its_own_call_and_the_broker_can_tell() {
    needs!(bwrap, landlock, cc);
    let place = place();
    let plugin = misbehave(&place);
    for backend in [Backend::Bwrap, Backend::Landlock] {
        for (what, then) in TABLE {
            let mut helper = Helper::greeted(&plugin, Place::In(backend));
            let answered = helper.call(&doing(what));
            let about = format!("{what} {backend:?} {answered:?}");
            match then {
                Then::Works => assert_eq!(helper.call(&doing("nothing")).code, Some(0), "{about}"),
                Then::Answered(code) => {
                    assert_eq!(answered.code, Some(0), "{about}");
                    assert_eq!(helper.ended().0, Some(*code), "{about}");
                }
                Then::Lost(code) => {
                    assert_eq!(answered.code, None, "{about}");
                    assert_eq!(helper.ended().0, *code, "{about}");
                }
            }
        }
    }
}

#[test]
fn answers_that_are_no_codes_and_threads_that_are_not_the_host_s_are_failures() {
    needs!(cc);
    let place = place();
    let plugin = misbehave(&place);
    let mut helper = Helper::greeted(&plugin, Place::Bare);
    let odd = helper.call(&doing("code"));
    assert_eq!(
        (odd.code, odd.logs),
        (Some(-3), vec![(1, "the plugin returned 17, which is no code".into())])
    );
    let intruder = helper.call(&doing("intrude"));
    assert_eq!(
        (intruder.code, intruder.reply.as_str(), intruder.logs.len()),
        (Some(0), r#"{"number":"-3"}"#, 0)
    );
    assert_eq!(helper.call(&doing("denied")).code, Some(-4));
    assert_eq!(helper.call(&doing("environment")).reply, r#"{"environment":""}"#);
    // A state that does not open answers the call, and the next one tries again.
    let mut helper = Helper::start(&plugin, Place::Bare, 1, r#"{"open":"fails"}"#);
    helper.greeting();
    for _ in 0..2 {
        let unopened = helper.call(&doing("nothing"));
        assert_eq!((unopened.code, unopened.logs), (Some(-3), vec![(1, "told not to open".into())]));
    }
}

#[test]
fn what_is_hidden_and_what_is_outside_stays_out_of_reach() {
    needs!(bwrap, landlock, cc);
    let place = place();
    let plugin = misbehave(&place);
    let late_liar = compile(LATE_LIAR, place.path(), &[]);
    let secret = place.path().join("secret");
    std::fs::write(&secret, "a secret").unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ask = |place: Place| {
        let mut helper = Helper::greeted(&plugin, place);
        let mut with =
            |what: &str, with: &str| helper.call(&format!(r#"{{"do":"{what}","with":"{with}"}}"#)).reply;
        let opened = with("open", secret.to_str().unwrap());
        let reached = with("socket", &port.to_string());
        let mut helper = Helper::greeted(&late_liar, place);
        (opened, reached, helper.call(&format!(r#"{{"number":{port}}}"#)).reply)
    };
    let free = ask(Place::Bare);
    let reached = (r#"{"content":"a secret"}"#, r#"{"number":"0"}"#, r#"{"errno":0}"#);
    assert_eq!((free.0.as_str(), free.1.as_str(), free.2.as_str()), reached, "the twin");
    for (backend, open, errno) in
        [(Backend::Bwrap, libc::ENOENT, libc::ECONNREFUSED), (Backend::Landlock, libc::EACCES, libc::EPERM)]
    {
        let found = ask(Place::In(backend));
        assert_eq!(found.0, format!(r#"{{"number":"{}"}}"#, open), "{backend:?}");
        assert_eq!(found.1, format!(r#"{{"number":"{}"}}"#, errno), "{backend:?}");
        assert_eq!(found.2, format!(r#"{{"errno":{}}}"#, errno), "{backend:?}");
    }
}

/// Those that end only when the broker ends them: it sees a lane that says nothing, or too much.
#[test]
fn a_plugin_that_hangs_floods_or_takes_all_memory_is_ended_and_nothing_is_left() {
    needs!(bwrap, cc);
    let place = place();
    let plugin = misbehave(&place);
    let mut helper = Helper::greeted(&plugin, Place::In(Backend::Bwrap));
    helper.lanes[0].send(Frame::Call { input: doing("flood").as_bytes() });
    for _ in 0..64 {
        assert!(matches!(helper.lanes[0].hears(), Some(Asked::Reply(_))));
    }
    helper.lanes[0].send(Frame::Cancel);
    // It goes on by itself, and what it writes goes nowhere.
    gone(helper);
    let mut helper = Helper::greeted(&plugin, Place::In(Backend::Bwrap));
    helper.lanes[0].send(Frame::Call { input: doing("hang").as_bytes() });
    gone(helper);
    let mut helper = Helper::greeted(&plugin, Place::In(Backend::Bwrap));
    assert_eq!(helper.call(&doing("memory")), Answered::default());
    let (code, words) = helper.ended();
    assert!(code.is_none() && words.contains("Memory"), "{words}");
}

/// Ends the helper as the broker does: the whole sandbox, whatever the plugin does.
fn gone(helper: Helper) {
    let pid = Pid::from_raw(i32::try_from(helper.pid()).unwrap());
    helper.end();
    assert_eq!(
        kill(pid, None::<Signal>),
        Err(Errno::ESRCH),
        "{}",
        Path::new("/proc").join(pid.to_string()).display()
    );
}
