//! The JSON schema of every message.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{Value, json};

use super::client::{
    Asked, Cancelled, Greeting, Input, Launch, Question, Ruling, Signalled, TurnNamed, Withdrawn,
};
use super::{ToClient, VERSION};

/// The JSON schema of the protocol, draft 2020-12: what a client says, by its kind, and what a server says.
pub fn schema() -> Value {
    let mut said = SchemaSettings::draft2020_12().into_generator();
    let mut heard = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let client = json!([
        message::<Greeting>(&mut said, "hello"),
        message::<Launch>(&mut said, "run/start"),
        message::<Input>(&mut said, "run/stdin"),
        message::<Signalled>(&mut said, "run/signal"),
        message::<Cancelled>(&mut said, "run/cancel"),
        message::<TurnNamed>(&mut said, "turn/open"),
        message::<TurnNamed>(&mut said, "turn/close"),
        message::<Ruling>(&mut said, "approval/answer"),
        message::<Withdrawn>(&mut said, "approval/cancel"),
        message::<Asked>(&mut said, "probe"),
        message::<Question>(&mut said, "plan"),
        message::<Question>(&mut said, "policy/check"),
        message::<Question>(&mut said, "policy/show"),
        message::<Question>(&mut said, "policy/describe"),
    ]);
    let server = heard.subschema_for::<ToClient>();
    let mut definitions = said.take_definitions(true);
    definitions.extend(heard.take_definitions(true));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "confine serve protocol",
        "protocol": VERSION,
        "anyOf": [{ "$ref": "#/$defs/FromClient" }, { "$ref": "#/$defs/ToClient" }],
        "$defs": merged(definitions, &client, &server.into()),
    })
}

fn merged(mut definitions: serde_json::Map<String, Value>, client: &Value, server: &Value) -> Value {
    definitions.insert("FromClient".into(), json!({ "oneOf": client }));
    definitions.entry("ToClient").or_insert_with(|| server.clone());
    definitions.into()
}

fn message<T: JsonSchema>(generator: &mut SchemaGenerator, kind: &str) -> Value {
    json!({
        "type": "object",
        "properties": { "kind": { "const": kind } },
        "required": ["kind"],
        "$ref": Value::from(generator.subschema_for::<T>()).get("$ref"),
    })
}
