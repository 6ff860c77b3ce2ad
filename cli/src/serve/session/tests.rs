use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::time::Instant;

use super::*;

/// What a connection says whose client says `greeting` and may take `limit` for it, and how long it lasts.
fn said(greeting: &str, limit: Duration) -> (Vec<serde_json::Value>, Duration) {
    let (client, server) = UnixStream::pair().unwrap();
    (&client).write_all(greeting.as_bytes()).unwrap();
    let began = Instant::now();
    let served = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let house = Arc::new(House::new(None).unwrap());
            let (channel, farewell) = Channel::open(server.try_clone().unwrap(), server.try_clone().unwrap());
            Session { greeting: limit, ..Session::new(house, channel) }.run().await;
            let _ = timeout(FAREWELL, farewell).await;
            server.shutdown(std::net::Shutdown::Both).unwrap();
        });
        runtime.shutdown_background();
    });
    let lines = BufReader::new(&client).lines();
    let said = lines.map_while(|line| {
        let line: serde_json::Value = serde_json::from_str(&line.ok()?).unwrap();
        // Whoever is welcome goes.
        (line["kind"] == "hello").then(|| client.shutdown(std::net::Shutdown::Write));
        Some(line)
    });
    let said = said.collect();
    served.join().unwrap();
    (said, began.elapsed())
}

#[test]
fn a_client_that_does_not_say_hello_in_time_is_told_so_and_sent_away() {
    let limit = Duration::from_millis(30);
    for silent in ["", "\n", r#"{"kind":"hel"#] {
        let (said, lasted) = said(silent, limit);
        assert_eq!(said.len(), 1, "{said:?}");
        assert_eq!((&said[0]["kind"], &said[0]["fault"]), (&"error".into(), &"no-hello".into()), "{silent}");
        assert!(lasted >= limit && lasted < GREETING, "{lasted:?}");
    }
    assert_eq!(GREETING, Duration::from_secs(10), "as docs/serve.md says");
    let (said, _) = said("{\"kind\":\"hello\",\"version\":1}\n", GREETING);
    assert_eq!(said[0]["kind"], "hello");
}
