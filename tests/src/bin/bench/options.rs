//! The benchmark's own command line.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::fault::Fault;
use crate::row::Row;

/// How to answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Tables for people.
    Table,
    /// One JSON object.
    Json,
}

/// As given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// How to answer.
    pub(crate) format: Format,
    /// Rounds of the main table.
    pub(crate) rounds: usize,
    /// Only these rows, and none of the other tables; all of everything where there is none.
    pub(crate) rows: Vec<Row>,
    /// The `confine` to measure, with its stage beside it.
    pub(crate) confine: PathBuf,
}

const ROUNDS: usize = 200;

impl Options {
    /// Reads the words after the program's name.
    pub(crate) fn parse(words: impl IntoIterator<Item = OsString>) -> Result<Self, Fault> {
        let (format, rows, confine) = (Format::Table, Vec::new(), PathBuf::new());
        let mut options = Self { format, rounds: ROUNDS, rows, confine };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            match word.to_str() {
                Some("--json") => options.format = Format::Json,
                Some("--rounds") => options.rounds = count("--rounds", words.next())?,
                Some("--row") => options.rows.push(row(words.next())?),
                Some(option) if option.starts_with('-') => return Err(Fault::Option(option.to_owned())),
                _ => options.confine = PathBuf::from(word),
            }
        }
        if options.confine.as_os_str().is_empty() { Err(Fault::NoConfine) } else { Ok(options) }
    }

    /// Rounds of the smaller tables: a tenth, and at least 5.
    pub(crate) fn few(&self) -> usize {
        (self.rounds / 10).max(5)
    }
}

fn row(value: Option<OsString>) -> Result<Row, Fault> {
    let name = value.unwrap_or_default().to_string_lossy().into_owned();
    Row::ALL.into_iter().find(|row| row.name() == name).ok_or(Fault::Value("--row", name))
}

fn count(option: &'static str, value: Option<OsString>) -> Result<usize, Fault> {
    let text = value.unwrap_or_default().to_string_lossy().into_owned();
    match text.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Fault::Value(option, text)),
    }
}
