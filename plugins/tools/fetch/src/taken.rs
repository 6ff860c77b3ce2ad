//! An answer while it comes, no more of it than is wanted.

use std::ops::ControlFlow;

use confine_plugin_abi::{Answer, Fault};
use serde_json::{Value, json};

use crate::media::{Charset, Media, Shape};
use crate::{page, text};

#[derive(Debug)]
pub(crate) struct Taken {
    room: usize,
    head: Option<(Value, Media)>,
    body: Vec<u8>,
    is_truncated: bool,
}

impl Taken {
    /// Room for so many bytes of a body.
    pub(crate) fn new(room: usize) -> Self {
        Self { room, head: None, body: Vec::new(), is_truncated: false }
    }

    /// The reply; `None` without a head.
    pub(crate) fn answer(self) -> Option<Result<Value, Fault>> {
        let Self { head, body, is_truncated, .. } = self;
        let (head, media) = head?;
        let mut reply = json!({
            "status": head.get("status").cloned().unwrap_or_default(),
            "type": media.name,
            "truncated": is_truncated,
        });
        let letters = match media.charset {
            Charset::Utf8 => text::utf8(&body, is_truncated),
            Charset::Latin1 => body.iter().map(|byte| char::from(*byte)).collect(),
        };
        let (field, value) = match media.shape {
            Shape::Binary => {
                return Some(Err(Fault::failed(format!("the answer is `{}`, which is no text", media.name))));
            }
            // What is cut, or is not what it says, is shown as it is.
            Shape::Json => match serde_json::from_str(&letters) {
                Ok(value) => ("json", value),
                Err(_) => ("text", Value::String(letters)),
            },
            Shape::Html => ("text", Value::String(page::text(&letters))),
            Shape::Plain => ("text", Value::String(letters)),
        };
        if let Some(fields) = reply.as_object_mut() {
            fields.insert(field.to_owned(), value);
        }
        Some(Ok(reply))
    }
}

impl Answer for Taken {
    fn head(&mut self, head: &str) -> ControlFlow<()> {
        let Ok(head) = serde_json::from_str(head) else { return ControlFlow::Break(()) };
        let media = Media::of(&head);
        let is_binary = media.shape == Shape::Binary;
        self.head = Some((head, media));
        if is_binary { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn part(&mut self, part: &[u8]) -> ControlFlow<()> {
        let room = self.room.saturating_sub(self.body.len());
        let taken = part.get(..room).unwrap_or(part);
        self.body.extend_from_slice(taken);
        self.is_truncated = taken.len() < part.len();
        if self.is_truncated { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(head: &str, parts: &[&[u8]], room: usize) -> Value {
        let mut taken = Taken::new(room);
        assert!(taken.head(head).is_continue());
        for part in parts {
            if taken.part(part).is_break() {
                break;
            }
        }
        taken.answer().unwrap().unwrap()
    }

    fn head(media: &str) -> String {
        json!({ "status": 200, "headers": [["content-type", media]] }).to_string()
    }

    #[test]
    fn json_stays_json_unless_it_is_cut() {
        let whole = taken(&head("application/json"), &[b"{\"a\":", b"[1]}"], 100);
        assert_eq!(
            whole,
            json!({ "status": 200, "type": "application/json", "truncated": false, "json": { "a": [1] } })
        );
        let cut = taken(&head("application/json"), &[b"{\"a\":", b"[1]}"], 6);
        assert_eq!(
            cut,
            json!({ "status": 200, "type": "application/json", "truncated": true, "text": "{\"a\":[" })
        );
    }

    #[test]
    fn no_more_is_taken_than_is_wanted_and_no_letter_is_cut() {
        let page = taken(&head("text/html"), &["<p>größer".as_bytes()], 8);
        assert_eq!((&page["text"], &page["truncated"]), (&json!("grö"), &json!(true)));
        let exact = taken(&head("text/plain"), &[b"12345678"], 8);
        assert_eq!((&exact["text"], &exact["truncated"]), (&json!("12345678"), &json!(false)));
        let latin = taken(&head("text/plain; charset=latin1"), &[b"gr\xf6\xdfer"], 8);
        assert_eq!(latin["text"], "größer");
    }

    #[test]
    fn what_is_no_text_is_not_read_and_says_so() {
        let mut taken = Taken::new(8);
        assert!(taken.head(&head("image/png")).is_break());
        assert_eq!(
            taken.answer().unwrap().unwrap_err().reason(),
            "the answer is `image/png`, which is no text"
        );
        assert!(Taken::new(8).answer().is_none());
    }
}
