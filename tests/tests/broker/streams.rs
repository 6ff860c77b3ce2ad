//! Bodies of any length, in little memory.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use confine_tests::needs;
use serde_json::json;

use crate::scene::{BRIDGE, Scene, approved, call, helpers};

const LONG: u64 = 200 * 1024 * 1024;

/// Takes whatever comes, and then gives `bytes`, or gives back at once what comes.
pub(crate) fn server(bytes: u64) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || serve(stream.unwrap(), bytes));
        }
    });
    port
}

fn serve(mut stream: TcpStream, bytes: u64) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    if head.starts_with("POST") {
        let mut line = String::new();
        loop {
            line.clear();
            reader.read_line(&mut line).ok()?;
            let length = u64::from_str_radix(line.trim(), 16).ok()?;
            std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink()).ok()?;
            reader.read_exact(&mut [0; 2]).ok()?;
            if length == 0 {
                break;
            }
        }
    }
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\n\r\n").ok()?;
    std::io::copy(&mut std::io::repeat(b'd').take(bytes), &mut stream).ok()?;
    Some(())
}

/// The most memory that a process has had, in bytes.
fn peak(pid: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_megabytes_pass_in_both_directions_in_little_memory() {
    needs!(bwrap, cc);
    let port = server(LONG);
    let scene = Scene::new().named("bridge.test");
    let broker = scene.broker(&["bridge"]);
    broker.load(&approved(&scene.compiled(BRIDGE, &[&format!("-DPORT={port}")]))).unwrap();
    let before = peak("self");
    let came = call(&broker, "bridge", json!({"port": port})).await.unwrap();
    assert_eq!(came, format!(r#"{{"came":{LONG}}}"#));
    let came = call(&broker, "bridge", json!({"port": port, "up": LONG})).await.unwrap();
    assert_eq!(came, format!(r#"{{"came":{LONG}}}"#));
    let helper = peak(&helpers()[0].to_string());
    let broker = peak("self");
    println!("peaks: broker {broker} (before {before}), helper {helper}");
    assert!(helper < 32 << 20, "the helper had {helper}");
    assert!(broker < 32 << 20, "the broker had {broker}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_gives_back_what_it_takes_stops_nobody() {
    needs!(bwrap, cc);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut reader = stream.try_clone().unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").unwrap();
        // Also the frames of its body, which is as good as any.
        let _ = std::io::copy(&mut reader, &mut stream);
    });
    let scene = Scene::new().named("bridge.test");
    let broker = scene.broker(&["bridge"]);
    broker.load(&approved(&scene.compiled(BRIDGE, &[&format!("-DPORT={port}")]))).unwrap();
    let input = json!({"port": port, "up": 16 << 20});
    let echoed =
        tokio::time::timeout(std::time::Duration::from_secs(5), call(&broker, "bridge", input)).await;
    // It never closes, so the call is ended from outside; what matters is that the upload went through.
    drop(echoed);
    assert!(call(&broker, "bridge", json!({"port": 1})).await.is_err());
}
