use proptest::prelude::*;

use super::*;

const LINKS: [Link; 4] =
    [Link::ControlToHelper, Link::ControlToBroker, Link::LaneToHelper, Link::LaneToBroker];

fn one_of_each<'a>(bytes: &'a [u8], text: &'a str, number: u32) -> Vec<(Link, Frame<'a>)> {
    let code = i32::from_le_bytes(number.to_le_bytes());
    let lane = [
        Frame::Call { input: bytes },
        Frame::Cancel,
        Frame::Head { head: bytes },
        Frame::Body { part: bytes },
        Frame::End,
        Frame::Failed { code, text },
        Frame::Connected,
    ];
    let back = [
        Frame::Fetch { upload: Upload::None, request: bytes },
        Frame::Fetch { upload: Upload::Follows, request: bytes },
        Frame::Upload { part: bytes },
        Frame::UploadEnd,
        Frame::Stop,
        Frame::Connect { target: bytes },
        Frame::Log { level: 3, text },
        Frame::Reply { part: bytes },
        Frame::Done { code },
    ];
    let mut all = vec![
        (Link::ControlToHelper, Frame::Open { abi: 1, lanes: number, config: bytes }),
        (Link::ControlToBroker, Frame::Hello { abi: 1, size: number.into(), manifest: bytes }),
        (Link::ControlToBroker, Frame::Refused { reason: text }),
    ];
    all.extend(lane.map(|frame| (Link::LaneToHelper, frame)));
    all.extend(back.map(|frame| (Link::LaneToBroker, frame)));
    all
}

fn header(length: u32, kind: u8) -> Vec<u8> {
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.push(kind);
    bytes
}

#[test]
fn a_length_is_refused_before_its_payload_is_there() {
    let long = u32::try_from(LONGEST).unwrap();
    let mut call = Decoder::new(Link::LaneToHelper);
    call.push(&header(long, 16));
    assert_eq!(call.frame(), Ok(None));
    let mut call = Decoder::new(Link::LaneToHelper);
    call.push(&header(long + 1, 16));
    assert_eq!(call.frame(), Err(FrameError::TooLong(LONGEST + 1)));
    assert_eq!(call.frame(), Err(FrameError::TooLong(LONGEST + 1)), "it stays so");
    let mut body = Decoder::new(Link::LaneToHelper);
    body.push(&header(u32::try_from(PART).unwrap() + 1, 19));
    assert_eq!(body.frame(), Err(FrameError::PartTooLong(PART + 1)));
}

#[test]
fn what_is_too_long_is_not_written_either() {
    let (part, whole) = (vec![0; PART + 1], vec![0; LONGEST + 1]);
    let mut out = Vec::new();
    assert_eq!(Frame::Reply { part: &part }.encode(&mut out), Err(FrameError::PartTooLong(PART + 1)));
    assert_eq!(Frame::Call { input: &whole }.encode(&mut out), Err(FrameError::TooLong(LONGEST + 1)));
    assert!(out.is_empty());
    assert_eq!(Frame::Reply { part: &part[1..] }.encode(&mut out), Ok(()));
}

#[test]
fn a_frame_is_read_on_its_own_link_only() {
    for (own, frame) in one_of_each(b"x", "y", 7) {
        let mut bytes = Vec::new();
        frame.encode(&mut bytes).unwrap();
        for link in LINKS {
            let mut decoder = Decoder::new(link);
            decoder.push(&bytes);
            assert_eq!(decoder.frame().is_ok(), link == own, "{frame:?} on {link:?}");
        }
    }
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in_whatever_the_chunks(
        bytes in prop::collection::vec(any::<u8>(), 0..64), text: String, number: u32, chunk in 1..40_usize,
    ) {
        for link in LINKS {
            let all = one_of_each(&bytes, &text, number);
            let sent: Vec<Frame<'_>> = all.into_iter().filter(|(on, _)| *on == link).map(|(_, frame)| frame).collect();
            let mut stream = Vec::new();
            sent.iter().for_each(|frame| frame.encode(&mut stream).unwrap());
            let mut decoder = Decoder::new(link);
            let mut next = sent.iter();
            for part in stream.chunks(chunk) {
                decoder.push(part);
                while let Some(frame) = decoder.frame().unwrap() {
                    prop_assert_eq!(Some(&frame), next.next());
                }
            }
            prop_assert!(next.next().is_none() && decoder.is_between());
        }
    }

    #[test]
    fn no_bytes_panic(bytes: Vec<u8>, kind in 0..48_u8, length in 0..40_u32) {
        for link in LINKS {
            let mut decoder = Decoder::new(link);
            decoder.push(&header(length, kind));
            decoder.push(&bytes);
            while let Ok(Some(_)) = decoder.frame() {}
            prop_assert!(decoder.wanted() <= LONGEST + HEADER);
        }
    }
}
