use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[test]
fn a_length_beyond_the_bound_is_refused_before_it_is_waited_for() {
    let mut decoder = Decoder::new(Link::LaneToHelper);
    decoder.push(&(u32::try_from(LONGEST).unwrap() + 1).to_le_bytes());
    decoder.push(&[0]);
    assert!(decoder.frame().is_err());
}

#[test]
fn a_frame_of_the_other_direction_is_refused() {
    let mut bytes = Vec::new();
    Frame::Done { code: 0 }.encode(&mut bytes).unwrap();
    let mut decoder = Decoder::new(Link::LaneToHelper);
    decoder.push(&bytes);
    assert!(decoder.frame().is_err());
}

#[test]
fn a_part_longer_than_a_part_is_not_written() {
    assert!(Frame::Reply { part: &vec![0; PART + 1] }.encode(&mut Vec::new()).is_err());
}

proptest! {
    #[test]
    fn frames_come_back_whatever_the_chunks(input in vec(any::<u8>(), 0..300), cuts in vec(1_usize..40, 1..40)) {
        let mut bytes = Vec::new();
        Frame::Call { input: &input }.encode(&mut bytes).unwrap();
        Frame::Cancel.encode(&mut bytes).unwrap();
        let mut decoder = Decoder::new(Link::LaneToHelper);
        let (mut seen, mut rest, mut cuts) = (0, bytes.as_slice(), cuts.into_iter().cycle());
        while !rest.is_empty() {
            let (chunk, left) = rest.split_at(cuts.next().unwrap_or(1).min(rest.len()));
            rest = left;
            decoder.push(chunk);
            while let Some(frame) = decoder.frame().unwrap() {
                match seen {
                    0 => prop_assert_eq!(frame, Frame::Call { input: &input }),
                    _ => prop_assert_eq!(frame, Frame::Cancel),
                }
                seen += 1;
            }
        }
        prop_assert_eq!(seen, 2);
        prop_assert!(decoder.is_between());
    }

    #[test]
    fn no_bytes_panic(bytes in vec(any::<u8>(), 0..200)) {
        for link in [Link::LaneToHelper, Link::ControlToHelper] {
            let mut decoder = Decoder::new(link);
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.frame() {}
        }
    }
}
