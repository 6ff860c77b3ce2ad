//! A server that says what a test tells it to, and keeps what it was told.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// What to answer a request, by its head.
pub(crate) type Answers = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Until the process ends.
pub(crate) struct Server {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// On loopback, answering every request with 200 and `text`.
    pub(crate) fn saying(text: &'static str) -> Self {
        Self::answering(move |_| ok(text))
    }

    pub(crate) fn answering(answers: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        Self::on([127, 0, 0, 1].into(), answers)
    }

    pub(crate) fn on(address: IpAddr, answers: impl Fn(&str) -> String + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((address, 0)).unwrap();
        let server = Self { address: listener.local_addr().unwrap(), heads: Arc::default() };
        let (heads, answers): (_, Answers) = (server.heads.clone(), Arc::new(answers));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (heads, answers) = (heads.clone(), answers.clone());
                std::thread::spawn(move || serve(stream.unwrap(), &heads, &answers));
            }
        });
        server
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// The heads of all requests so far.
    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

/// 200 with a body.
pub(crate) fn ok(text: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len())
}

/// A redirect.
pub(crate) fn redirect(status: u16, location: &str) -> String {
    format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
}

fn serve(mut stream: TcpStream, heads: &Mutex<Vec<String>>, answers: &Answers) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap_or(0) == 0 {
            return;
        }
    }
    heads.lock().unwrap().push(head.clone());
    let length = field(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        let _ = stream.write_all(answers(&head).as_bytes());
    }
}

/// The value of a field.
pub(crate) fn field(head: &str, name: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (found, value) = line.split_once(':')?;
        found.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
    })
}
