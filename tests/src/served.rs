//! A client of `confine serve`, line by line, so that a test can say what no client should.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::Scene;
use crate::world::within;

/// No answer takes longer; a test that waits so long fails.
const PATIENCE: Duration = Duration::from_secs(30);

/// One connection. Dropping it closes it, and ends the server that is its own.
pub struct Client {
    writer: Option<Box<dyn Write + Send>>,
    lines: Receiver<Value>,
    passed: Vec<Value>,
    end: End,
}

enum End {
    Process(Child),
    Socket(UnixStream),
}

/// A server at a socket. Dropping it kills it.
pub struct Server {
    child: Child,
    path: PathBuf,
}

impl Client {
    /// With a server of its own, over pipes, as the scene's user in the workspace.
    ///
    /// # Panics
    /// When it does not start.
    pub fn stdio(scene: &Scene) -> Self {
        let mut command = serve(scene);
        command.arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("confine serve starts");
        let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self::new(Box::new(stdin), stdout, End::Process(child))
    }

    /// To a socket.
    ///
    /// # Panics
    /// When nobody listens.
    pub fn socket(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("somebody listens");
        let (reader, writer) = (stream.try_clone().expect("a copy"), stream.try_clone().expect("a copy"));
        Self::new(Box::new(writer), reader, End::Socket(stream))
    }

    fn new(writer: Box<dyn Write + Send>, reader: impl Read + Send + 'static, end: End) -> Self {
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(reader).lines().map_while(Result::ok) {
                let value = serde_json::from_str(&line)
                    .unwrap_or_else(|_| json!({ "kind": "garbage", "line": line }));
                if sender.send(value).is_err() {
                    return;
                }
            }
        });
        Self { writer: Some(writer), lines, passed: Vec::new(), end }
    }

    /// Says hello, and gets the answer.
    ///
    /// # Panics
    /// Without one.
    pub fn greet(mut self, approvals: &str) -> Self {
        self.say(json!({ "kind": "hello", "version": 1, "approvals": approvals, "deadline_ms": 20_000 }));
        let welcome = self.next("hello", |_| true);
        assert_eq!(welcome["version"], 1);
        self
    }

    /// Says a message.
    pub fn say(&mut self, message: Value) {
        self.write(format!("{message}\n").as_bytes());
    }

    /// Writes bytes. A server that is gone is no failure here.
    pub fn write(&mut self, bytes: &[u8]) {
        if let Some(writer) = &mut self.writer {
            let _ = writer.write_all(bytes).and_then(|()| writer.flush());
        }
    }

    /// Starts `words` in the workspace as `run`, with more `fields`.
    pub fn start(&mut self, scene: &Scene, run: &str, words: &[&str], fields: Value) {
        let mut message =
            json!({ "kind": "run/start", "run": run, "command": words, "cwd": scene.workspace() });
        if let (Some(message), Value::Object(fields)) = (message.as_object_mut(), fields) {
            message.extend(fields);
        }
        self.say(message);
    }

    /// The next message of `kind` that `is` wanted; those before it are kept for later.
    ///
    /// # Panics
    /// When there is none in time, or the connection ends first.
    #[track_caller]
    pub fn next(&mut self, kind: &str, is: impl Fn(&Value) -> bool) -> Value {
        self.of_which(kind, |message| message["kind"] == kind && is(message))
    }

    #[track_caller]
    fn of_which(&mut self, kind: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.passed.iter().position(&wanted) {
            return self.passed.remove(at);
        }
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) if wanted(&message) => return message,
                Ok(message) => self.passed.push(message),
                Err(error) => panic!("no `{kind}` ({error}); there was\n{}", show(&self.passed)),
            }
        }
    }

    /// The next message of `kind` about `run`.
    ///
    /// # Panics
    /// As [`Client::next`].
    #[track_caller]
    pub fn of(&mut self, kind: &str, run: &str) -> Value {
        self.next(kind, |message| message["run"] == run)
    }

    /// The next message about `run` of one of these kinds.
    ///
    /// # Panics
    /// As [`Client::next`].
    #[track_caller]
    pub fn next_of_any(&mut self, run: &str, kinds: &[&str]) -> Value {
        self.of_which(kinds.join("` or `").as_str(), |message| {
            message["run"] == run && kinds.iter().any(|kind| message["kind"] == *kind)
        })
    }

    /// Everything of `kind` that was read and not asked for, up to now.
    pub fn take(&mut self, kind: &str) -> Vec<Value> {
        self.passed.extend(self.lines.try_iter());
        self.passed.extract_if(.., |message| message["kind"] == kind).collect()
    }

    /// The report of `run`, once it is over.
    ///
    /// # Panics
    /// As [`Client::next`].
    #[track_caller]
    pub fn report(&mut self, run: &str) -> Value {
        self.of("run/result", run)["report"].clone()
    }

    /// Everything that was read and not asked for, up to now.
    pub fn rest(&mut self) -> &[Value] {
        self.passed.extend(self.lines.try_iter());
        &self.passed
    }

    /// Fails unless the server ends the connection by itself; everything that it said before.
    ///
    /// # Panics
    /// When it does not.
    #[track_caller]
    pub fn ends(&mut self) -> Vec<Value> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(message) => self.passed.push(message),
                Err(RecvTimeoutError::Disconnected) => return std::mem::take(&mut self.passed),
                Err(RecvTimeoutError::Timeout) => panic!("the connection goes on:\n{}", show(&self.passed)),
            }
        }
    }

    /// Says nothing more: closes what the server reads.
    pub fn close(&mut self) {
        self.writer = None;
        if let End::Socket(stream) = &self.end {
            let _ = stream.shutdown(Shutdown::Write);
        }
    }

    /// The process id of a server of its own.
    ///
    /// # Panics
    /// Where it has none.
    pub fn server(&self) -> u32 {
        match &self.end {
            End::Process(child) => child.id(),
            End::Socket(_) => panic!("the server is somebody else's"),
        }
    }

    /// Waits for a server of its own.
    ///
    /// # Panics
    /// When it does not end in time.
    pub fn wait(&mut self) -> ExitStatus {
        let End::Process(child) = &mut self.end else { panic!("the server is somebody else's") };
        assert!(within(PATIENCE, || child.try_wait().is_ok_and(|status| status.is_some())), "it goes on");
        child.wait().expect("it was not waited for")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.close();
        match &mut self.end {
            End::Process(child) => kill(child),
            End::Socket(stream) => drop(stream.shutdown(Shutdown::Both)),
        }
    }
}

impl Server {
    /// In the scene's home.
    ///
    /// # Panics
    /// When it does not listen in time.
    pub fn new(scene: &Scene) -> Self {
        let path = scene.home().join("serve.socket");
        let child = serve(scene).arg("--socket").arg(&path).stdin(Stdio::null()).spawn().expect("it starts");
        let mut server = Self { child, path };
        let listens = within(PATIENCE, || UnixStream::connect(&server.path).is_ok());
        assert!(listens, "it ended: {:?}", server.child.try_wait());
        server
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        kill(&mut self.child);
    }
}

fn serve(scene: &Scene) -> Command {
    let mut command = scene.command(crate::installation::confine());
    command.arg("serve");
    command
}

fn kill(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn show(messages: &[Value]) -> String {
    messages.iter().map(|message| format!("{message}\n")).collect()
}
