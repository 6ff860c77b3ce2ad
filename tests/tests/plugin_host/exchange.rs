use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use confine_core::egress::frame::{Frame, PART};
use confine_tests::plugin::{Asked, Helper, Lane, Place, built, compile};
use confine_tests::{Backend, needs};

use super::{misbehave, place};

const RELAY: &str = "tests/programs/plugins/relay.c";
const HEAD: &[u8] = br#"{"status":200,"headers":[["content-type","text/html"]]}"#;

/// Answers a request with a head and a body.
fn page(lane: &mut Lane, body: &[u8]) {
    lane.send(Frame::Head { head: HEAD });
    for part in body.chunks(PART) {
        lane.send(Frame::Body { part });
    }
    lane.send(Frame::End);
}

/// The examples ask as their manifests say, in C and in Rust alike, in every sandbox.
#[test]
fn what_a_plugin_fetches_passes_over_its_lane() {
    needs!(bwrap, landlock, cc);
    let place = place();
    let head = compile("examples/egress-c/head.c", place.path(), &[]);
    for where_to in [Place::Bare, Place::In(Backend::Bwrap), Place::In(Backend::Landlock)] {
        let mut helper = Helper::greeted(&head, where_to);
        let answered = helper.lanes[0].answered(r#"{"url": "https://docs.rs/a\"b"}"#, |lane, asked| {
            let request = r#"{"method":"HEAD","url":"https://docs.rs/a\"b","headers":[]}"#;
            assert_eq!(asked, Asked::Fetch(request.into(), false));
            page(lane, b"");
        });
        assert_eq!((answered.code, answered.reply.as_bytes()), (Some(0), HEAD), "{where_to:?}");

        let mut helper = Helper::greeted(&built("confine_egress_links"), where_to);
        let answered = helper.lanes[0].answered(r#"{"url":"https://docs.rs/"}"#, |lane, asked| {
            assert!(matches!(&asked, Asked::Fetch(request, false) if request.contains(r#""url":"https://docs.rs/""#)));
            page(lane, br#"<a href="/one">1</a> <a class=x href="/two">2</a>"#);
        });
        assert_eq!(answered.code, Some(0), "{answered:?}");
        assert!(answered.reply.contains(r#""links":["/one","/two"]"#), "{}", answered.reply);
        // What is no input is answered by code, with the reason in the log.
        let wrong = helper.call("[]");
        assert_eq!((wrong.code, wrong.logs), (Some(-2), vec![(1, "`url` is missing".into())]));
        let denied = helper.lanes[0].answered(r#"{"url":"https://elsewhere.example/"}"#, |lane, _| {
            lane.send(Frame::Failed { code: -4, text: "not declared" });
        });
        assert_eq!(denied.code, Some(-4));
    }
}

#[test]
fn bodies_of_any_length_pass_both_ways_at_once_and_stop_when_nobody_wants_more() {
    needs!(cc);
    let place = place();
    let mut helper = Helper::greeted(&compile(RELAY, place.path(), &[]), Place::Bare);
    // The plugin uploads `n` parts and replies with the body. The answer comes while the upload runs, as of a server that
    // reads no further before it is read.
    let parts = 320;
    let mut got = 0;
    let call = format!(r#"{{"upload":{parts}}}"#);
    let answered = helper.lanes[0].answered(&call, |lane, asked| match asked {
        Asked::Fetch(_, follows) => {
            assert!(follows);
            lane.send(Frame::Head { head: HEAD });
        }
        Asked::Upload(part) => {
            got += part.len();
            lane.send(Frame::Body { part: &part });
        }
        Asked::UploadEnd => drop(lane.send(Frame::End)),
        other => panic!("{other:?}"),
    });
    assert_eq!((answered.code, got), (Some(0), parts * PART));
    assert_eq!(answered.reply.len(), parts * PART);

    // A source that fails is no end.
    let broken = helper.lanes[0].answered(r#"{"upload":3,"break":1}"#, |lane, asked| match asked {
        Asked::Stop => drop(lane.send(Frame::Failed { code: -3, text: "broken off" })),
        Asked::UploadEnd => panic!("the upload is not whole"),
        _ => {}
    });
    assert_eq!(broken.code, Some(-5));

    // A sink that has enough stops the rest, and the next call begins after it.
    let mut sent = 0;
    let enough = helper.lanes[0].answered(r#"{"upload":0,"enough":2}"#, |lane, asked| match asked {
        Asked::Fetch(..) => {
            lane.send(Frame::Head { head: HEAD });
            for _ in 0..3 {
                lane.send(Frame::Body { part: &[b'x'; 1000] });
            }
        }
        Asked::Stop => {
            sent += 1;
            lane.send(Frame::Body { part: b"on its way" });
            lane.send(Frame::End);
        }
        other => panic!("{other:?}"),
    });
    assert_eq!((enough.code, enough.reply.len(), sent), (Some(-5), 2000, 1));
    let again = helper.lanes[0].answered(r#"{"upload":0}"#, |lane, _| page(lane, b"fine"));
    assert_eq!((again.code, again.reply.as_str()), (Some(0), "fine"));
    // No second request inside the first.
    let nested = helper.lanes[0].answered(r#"{"upload":0,"nested":1}"#, |lane, _| page(lane, b"fine"));
    assert_eq!((nested.code, nested.logs), (Some(0), vec![(3, "nested -2".into())]));
}

#[test]
fn a_connected_socket_is_handed_into_the_sandbox_and_works_there() {
    needs!(bwrap, landlock, cc);
    let place = place();
    let plugin = compile(RELAY, place.path(), &[]);
    for where_to in [Place::Bare, Place::In(Backend::Bwrap), Place::In(Backend::Landlock)] {
        let mut helper = Helper::greeted(&plugin, where_to);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let peer = std::thread::spawn(move || {
            let (mut peer, _) = listener.accept().unwrap();
            let mut word = [0; 5];
            peer.read_exact(&mut word).unwrap();
            peer.write_all(&word).unwrap();
        });
        let answered = helper.lanes[0].answered(r#"{"connect":1}"#, |lane, asked| {
            assert_eq!(asked, Asked::Connect(r#"{"host":"db.example","port":5432}"#.into()));
            lane.give(TcpStream::connect(address).unwrap().into());
        });
        assert_eq!((answered.code, answered.reply.as_str()), (Some(0), "hello"), "{where_to:?}");
        peer.join().unwrap();
        let denied = helper.lanes[0].answered(r#"{"connect":1}"#, |lane, _| {
            lane.send(Frame::Failed { code: -4, text: "not declared" });
        });
        assert_eq!(denied.code, Some(-4));
    }
}

#[test]
fn a_cancelled_call_ends_as_cancelled_and_the_next_one_works() {
    needs!(cc);
    let place = place();
    let mut helper = Helper::greeted(&misbehave(&place), Place::Bare);
    let lane = &mut helper.lanes[0];
    lane.send(Frame::Call { input: br#"{"do":"wait"}"# });
    lane.send(Frame::Cancel);
    assert_eq!(lane.hears(), Some(Asked::Done(-5)));
    // One that comes too late says nothing to the next call.
    lane.send(Frame::Cancel);
    assert_eq!(lane.call(r#"{"do":"nothing"}"#).code, Some(0));
    // In the middle of a request it stops that.
    let mut relay = Helper::greeted(&compile(RELAY, place.path(), &[]), Place::Bare);
    let cancelled = relay.lanes[0].answered(r#"{"upload":0}"#, |lane, asked| match asked {
        Asked::Fetch(..) => drop(lane.send(Frame::Cancel)),
        Asked::Stop => drop(lane.send(Frame::Failed { code: -5, text: "" })),
        other => panic!("{other:?}"),
    });
    assert_eq!(cancelled.code, Some(-5));
    assert_eq!(relay.lanes[0].answered(r#"{"upload":0}"#, |lane, _| page(lane, b"")).code, Some(0));
}
