use super::*;
use proptest::prelude::*;
use std::os::unix::ffi::OsStringExt as _;

proptest! {
    #[test]
    fn no_text_panics(text: Vec<u8>) {
        parse(&text);
    }

    #[test]
    fn a_cut_entry_is_read_up_to_the_cut(cut in 0usize..400) {
        let entry = Entry { precreated: vec![AbsPath::root()], ..Entry::of("r") };
        let mut text = serde_json::to_vec(&entry).unwrap();
        let length = text.len();
        text.extend_from_slice(b"\n{\"path\":\"/a\",\"identity\":{\"device\":1,\"inode\":2}}\n");
        let account = parse(&text[..cut.min(text.len())]);
        prop_assert_eq!(account.is_some(), cut >= length);
        if let Some(account) = account {
            prop_assert_eq!(account.entry, entry);
        }
    }
}

#[test]
fn names_that_are_not_utf8_survive() {
    let path =
        AbsPath::new(std::path::PathBuf::from(std::ffi::OsString::from_vec(b"/a\xff".to_vec()))).unwrap();
    let entry = Entry { precreated: vec![path], ..Entry::of("r") };
    let text = serde_json::to_vec(&entry).unwrap();
    assert_eq!(parse(&text).unwrap().entry, entry);
}
