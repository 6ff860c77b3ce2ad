//! A broker with one linked tool that makes the request that it is called with.

use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use confine_broker::audit::{Audit, Connection, Decision, Note};
use confine_broker::dial::Resolver;
use confine_broker::{Broker, Builder};
use confine_core::egress::Manifest;
use confine_core::egress::address::StaticNames;
use confine_core::egress::host::{HostName, HostPattern, HostRules};
use confine_core::egress::manifest::ToolName;
use confine_core::egress::tool::{
    Code, EgressHost, EgressTool, Head, Request, Response, Sink, Source, Stopped, ToolError, async_trait,
};
use confine_runner::Confine;
use serde_json::{Value, json};

/// Keeps every line.
#[derive(Default)]
pub(crate) struct Kept(Mutex<Vec<Note>>);

impl Audit for Kept {
    fn note(&self, note: &Note) {
        self.0.lock().unwrap().push(note.clone());
    }
}

impl Kept {
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(&*self.0.lock().unwrap()).unwrap()
    }

    pub(crate) fn connections(&self) -> Vec<Connection> {
        let of = |note: &Note| match note {
            Note::Connection(connection) => Some(connection.clone()),
            Note::Call(_) => None,
        };
        self.0.lock().unwrap().iter().filter_map(of).collect()
    }

    pub(crate) fn decisions(&self) -> Vec<Decision> {
        self.connections().into_iter().map(|connection| connection.decision).collect()
    }

    pub(crate) fn calls(&self) -> usize {
        self.0.lock().unwrap().iter().filter(|note| matches!(note, Note::Call(_))).count()
    }
}

/// Answers by a list, and counts.
#[derive(Default)]
pub(crate) struct Names {
    pub(crate) answers: Vec<(&'static str, Vec<Vec<IpAddr>>)>,
    pub(crate) asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Resolver for Names {
    async fn addresses(&self, name: &HostName) -> io::Result<Vec<IpAddr>> {
        let mut asked = self.asked.lock().unwrap();
        let before = asked.iter().filter(|known| *known == name.as_str()).count();
        asked.push(name.to_string());
        let answers = self.answers.iter().find(|(known, _)| *known == name.as_str());
        let answers = answers.map(|(_, answers)| answers).ok_or(io::ErrorKind::NotFound)?;
        Ok(answers.get(before).or(answers.last()).cloned().unwrap_or_default())
    }
}

/// What a request came to.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    pub(crate) backwards: String,
}

/// The tool.
struct Asker(Manifest);

#[derive(Default)]
struct Collected {
    head: Option<Head>,
    body: Vec<u8>,
}

#[async_trait]
impl Response for Collected {
    async fn head(&mut self, head: &Head) -> Result<(), Stopped> {
        self.head = Some(head.clone());
        Ok(())
    }

    async fn body(&mut self, part: &[u8]) -> Result<(), Stopped> {
        self.body.extend_from_slice(part);
        Ok(())
    }
}

struct Text(Vec<u8>);

#[async_trait]
impl Source for Text {
    async fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stopped> {
        let count = buffer.len().min(self.0.len());
        buffer[..count].copy_from_slice(&self.0[..count]);
        self.0.drain(..count);
        Ok(count)
    }
}

#[async_trait]
impl EgressTool for Asker {
    fn manifest(&self) -> &Manifest {
        &self.0
    }

    async fn call(
        &self,
        input: &Value,
        host: &dyn EgressHost,
        reply: &mut dyn Sink,
    ) -> Result<(), ToolError> {
        let request: Request = serde_json::from_value(input["request"].clone()).unwrap();
        let mut text = input["body"].as_str().map(|body| Text(body.as_bytes().to_vec()));
        let upload = text.as_mut().map(|text| text as &mut (dyn Source + '_));
        let mut collected = Collected::default();
        host.fetch(&request, upload, &mut collected).await?;
        let head = collected.head.unwrap();
        let body = String::from_utf8(collected.body).unwrap();
        // What the tool itself saw, in a form that nobody looks for.
        let backwards: String = body.chars().rev().collect();
        let said =
            json!({"status": head.status, "headers": head.headers, "body": body, "backwards": backwards})
                .to_string();
        reply.write(said.as_bytes()).await.map_err(|_| ToolError::new(Code::Cancelled, ""))
    }
}

/// Everything is collected.
pub(crate) struct All(pub(crate) Vec<u8>);

#[async_trait]
impl Sink for All {
    async fn write(&mut self, part: &[u8]) -> Result<(), Stopped> {
        self.0.extend_from_slice(part);
        Ok(())
    }
}

/// A broker and what it wrote down.
pub(crate) struct Scene {
    pub(crate) broker: Broker,
    pub(crate) kept: Arc<Kept>,
}

/// The choices of a scene.
pub(crate) struct Setting {
    pub(crate) declared: Vec<String>,
    pub(crate) methods: Vec<&'static str>,
    pub(crate) credentials: Value,
    pub(crate) rules: HostRules,
    pub(crate) names: Vec<(String, IpAddr)>,
}

impl Setting {
    /// Declares and allows `hosts`.
    pub(crate) fn reaching(hosts: &[String]) -> Self {
        Self {
            declared: hosts.to_vec(),
            methods: vec!["GET"],
            credentials: json!([]),
            rules: HostRules { allow: patterns(hosts), deny: Vec::new() },
            names: Vec::new(),
        }
    }

    pub(crate) fn methods(self, methods: &[&'static str]) -> Self {
        Self { methods: methods.to_vec(), ..self }
    }

    pub(crate) fn allowing(mut self, hosts: &[String]) -> Self {
        self.rules.allow = patterns(hosts);
        self
    }

    /// All of these are names of 127.0.0.1.
    pub(crate) fn named(mut self, names: &[&str]) -> Self {
        self.names.extend(names.iter().map(|name| ((*name).to_owned(), [127, 0, 0, 1].into())));
        self
    }

    pub(crate) fn manifest(&self) -> Manifest {
        let manifest = json!({
            "abi": 1, "name": "asker", "version": "1.0.0", "summary": "Asks",
            "egress": [{"kind": "http", "hosts": self.declared, "methods": self.methods}],
            "credentials": self.credentials,
            "input": {"type": "object", "properties": {"request": {"type": "object",
                "properties": {"method": {"type": "string"}, "url": {"type": "string"},
                    "headers": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}},
                "additionalProperties": false},
                "body": {"type": "string"}}, "additionalProperties": false},
            "output": {"type": "object"},
            "limits": {"reply_bytes": 1_000_000, "timeout_ms": 20_000}});
        Manifest::parse(manifest.to_string().as_bytes()).unwrap()
    }

    pub(crate) fn scene(self) -> Scene {
        self.scene_with(|builder| builder)
    }

    pub(crate) fn scene_with(self, more: impl FnOnce(Builder) -> Builder) -> Scene {
        let kept = Arc::new(Kept::default());
        let mut names = StaticNames::new();
        for (name, address) in &self.names {
            names.entry(HostName::new(name).unwrap()).or_default().insert(*address);
        }
        let builder = Broker::builder(Confine::detect().unwrap()).tools(["asker"]).names(names);
        let builder = builder.rules(self.rules.clone()).audit(kept.clone());
        let builder = builder.resolver(Arc::new(Names::default()));
        let broker = more(builder).build().unwrap();
        broker.register(Arc::new(Asker(self.manifest())), &[]).unwrap();
        Scene { broker, kept }
    }
}

impl Scene {
    pub(crate) async fn get(&self, url: &str) -> Result<Answer, ToolError> {
        self.ask(json!({"request": {"method": "GET", "url": url}})).await
    }

    pub(crate) async fn ask(&self, input: Value) -> Result<Answer, ToolError> {
        let mut all = All(Vec::new());
        self.broker.call(&ToolName::new("asker").unwrap(), &input, &mut all).await?;
        let said: Value = serde_json::from_slice(&all.0).unwrap();
        Ok(Answer {
            status: u16::try_from(said["status"].as_u64().unwrap()).unwrap(),
            headers: serde_json::from_value(said["headers"].clone()).unwrap(),
            body: said["body"].as_str().unwrap().to_owned(),
            backwards: said["backwards"].as_str().unwrap().into(),
        })
    }
}

/// The code that a request ended with.
pub(crate) fn code(answer: Result<Answer, ToolError>) -> Code {
    answer.unwrap_err().code
}

/// Each host with a port.
pub(crate) fn at(port: u16, hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| format!("{host}:{port}")).collect()
}

/// Rules.
pub(crate) fn patterns(hosts: &[String]) -> Vec<HostPattern> {
    hosts.iter().map(|host| HostPattern::parse(host).unwrap()).collect()
}
