//! What kind of thing an answer is.

use serde_json::Value;

/// What can be told of a content type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    /// Type and subtype, in lower case; empty where the answer has none.
    pub(crate) name: String,
    pub(crate) shape: Shape,
    pub(crate) charset: Charset,
}

/// How it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Json,
    Html,
    /// As it is.
    Plain,
    /// Not at all.
    Binary,
}

/// How its bytes are letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    Utf8,
    /// ISO 8859-1, each byte the character of its number.
    Latin1,
}

/// Types that are text although they are not called so.
const TEXTS: &[&str] =
    &["application/javascript", "application/xml", "application/x-ndjson", "application/toml"];

impl Media {
    /// Of an answer's head, JSON `{status, headers}`.
    pub(crate) fn of(head: &Value) -> Self {
        let headers = head.get("headers").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let value = headers.iter().find_map(|pair| {
            let name = pair.get(0)?.as_str()?;
            name.eq_ignore_ascii_case("content-type").then(|| pair.get(1)?.as_str())?
        });
        Self::parse(value.unwrap_or_default())
    }

    fn parse(value: &str) -> Self {
        let value = value.to_ascii_lowercase();
        let (name, parameters) = value.split_once(';').unwrap_or((&value, ""));
        let name = name.trim().to_owned();
        let latin = ["iso-8859-1", "latin1", "us-ascii", "windows-1252"];
        let is_latin = parameters.split(';').any(|one| {
            let charset = one.trim().strip_prefix("charset=").map(|charset| charset.trim_matches('"'));
            charset.is_some_and(|charset| latin.contains(&charset))
        });
        let charset = if is_latin { Charset::Latin1 } else { Charset::Utf8 };
        Self { shape: shape(&name), name, charset }
    }
}

fn shape(name: &str) -> Shape {
    match name {
        "application/json" => Shape::Json,
        "text/html" | "application/xhtml+xml" => Shape::Html,
        _ if name.ends_with("+json") => Shape::Json,
        _ if name.is_empty() || name.starts_with("text/") || name.ends_with("+xml") => Shape::Plain,
        _ if TEXTS.contains(&name) => Shape::Plain,
        _ => Shape::Binary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn content_types_decide_how_an_answer_is_shown() {
        for (value, name, shape, charset) in [
            ("application/json", "application/json", Shape::Json, Charset::Utf8),
            (
                "application/problem+json; charset=utf-8",
                "application/problem+json",
                Shape::Json,
                Charset::Utf8,
            ),
            ("Text/HTML; Charset=\"ISO-8859-1\"", "text/html", Shape::Html, Charset::Latin1),
            ("text/plain", "text/plain", Shape::Plain, Charset::Utf8),
            ("image/svg+xml", "image/svg+xml", Shape::Plain, Charset::Utf8),
            ("image/png", "image/png", Shape::Binary, Charset::Utf8),
            ("application/octet-stream", "application/octet-stream", Shape::Binary, Charset::Utf8),
            ("", "", Shape::Plain, Charset::Utf8),
        ] {
            let head = json!({ "status": 200, "headers": [["x", "y"], ["Content-Type", value]] });
            assert_eq!(Media::of(&head), Media { name: name.into(), shape, charset }, "{value}");
        }
        assert_eq!(Media::of(&json!({ "headers": 7 })).shape, Shape::Plain);
    }
}
