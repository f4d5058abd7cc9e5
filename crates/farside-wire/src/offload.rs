//! Messages to the process that runs a program's functions where the program's data is.
//!
//! Each is a frame on a stream: the number of bytes that follow (4, little-endian), what it is (1), and its fields.
//! Numbers are little-endian; bytes come behind their number (4). Whoever sends them is not trusted.

use thiserror::Error;

/// Bytes before a frame's content.
pub const HEADER: usize = 4;

/// Most bytes of a frame.
pub const MOST_BYTES: usize = 64 << 20;

/// Most bytes of what goes into a call, and of what comes out of it.
pub const MOST_VALUES: usize = 1 << 20;

/// Most areas of a call.
pub const MOST_AREAS: usize = 256;

/// Content of an area that lies in one piece where it is kept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Bytes from the start of the area.
    pub offset: u64,
    /// Bytes from the start of the file that holds the pages.
    pub place: u64,
    /// Bytes.
    pub len: u64,
}

/// Memory that a function reads: what of it is in no run is zeros.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// The pointer to its first byte, as the program has it. 0 for an area that the function does not read.
    pub tag: u64,
    /// Bytes.
    pub len: u64,
    /// Its content, in order.
    pub runs: Vec<Run>,
}

/// A call of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// Which image, by the order in which they were loaded.
    pub image: u32,
    /// Which function of it.
    pub entry: u32,
    /// Longest time that it may take, in milliseconds.
    pub most_ms: u32,
    /// What it reads, by the numbers of sections when it was compiled.
    pub areas: Vec<Area>,
    /// Its arguments, as its entry takes them.
    pub input: Vec<u8>,
    /// Bytes that it leaves.
    pub output: u32,
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Machine code, as an object file.
    Load(Vec<u8>),
    /// A call of what was loaded.
    Call(Call),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// The number of an image.
    Loaded(u32),
    /// What a function left, and how many nanoseconds it took.
    Done {
        /// As its entry leaves it.
        output: Vec<u8>,
        /// From its start to its end.
        ns: u64,
    },
    /// Why it was not done. Nothing was changed.
    Failed(String),
}

/// Bytes that are no message.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Error)]
pub enum BadMessage {
    /// It ends early, or late.
    #[error("a message that is not as long as it says")]
    Length,
    /// It is longer than any.
    #[error("a message of {0} bytes, and the longest have {MOST_BYTES}")]
    TooLong(u64),
    /// Unknown kind.
    #[error("unknown kind of message {0}")]
    Kind(u8),
    /// A number that makes no sense there.
    #[error("{0} cannot be")]
    Value(&'static str),
}

/// Takes fields off the front of a message.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], BadMessage> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(BadMessage::Length)?;
        self.0 = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadMessage> {
        self.take(N)?.try_into().map_err(|_| BadMessage::Length)
    }

    fn small(&mut self) -> Result<u32, BadMessage> {
        self.array().map(u32::from_le_bytes)
    }

    fn large(&mut self) -> Result<u64, BadMessage> {
        self.array().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Result<&'a [u8], BadMessage> {
        let len = self.small()?;
        self.take(len as usize)
    }

    fn end(&self) -> Result<(), BadMessage> {
        if self.0.is_empty() { Ok(()) } else { Err(BadMessage::Length) }
    }

    fn area(&mut self) -> Result<Area, BadMessage> {
        let (tag, len, count) = (self.large()?, self.large()?, self.small()? as usize);
        // Each has as many bytes, so that a short message cannot ask for much memory.
        if count > self.0.len() / 24 {
            return Err(BadMessage::Length);
        }
        let mut runs = Vec::with_capacity(count);
        let mut end = 0;
        for _ in 0..count {
            let run = Run { offset: self.large()?, place: self.large()?, len: self.large()? };
            let (after, last) = (run.offset.checked_add(run.len), run.place.checked_add(run.len));
            match (after, last) {
                (Some(after), Some(_)) if run.offset >= end && after <= len && run.len > 0 => {
                    end = after;
                }
                _ => return Err(BadMessage::Value("a run of an area")),
            }
            runs.push(run);
        }
        Ok(Area { tag, len, runs })
    }

    fn call(&mut self) -> Result<Call, BadMessage> {
        let (image, entry, most_ms) = (self.small()?, self.small()?, self.small()?);
        let (output, count) = (self.small()?, self.small()? as usize);
        if output as usize > MOST_VALUES {
            return Err(BadMessage::Value("what comes out of a call"));
        }
        if count > MOST_AREAS {
            return Err(BadMessage::Value("the number of areas"));
        }
        let areas = (0..count).map(|_| self.area()).collect::<Result<_, _>>()?;
        let input = self.bytes()?.to_vec();
        if input.len() > MOST_VALUES {
            return Err(BadMessage::Value("what goes into a call"));
        }
        Ok(Call { image, entry, most_ms, areas, input, output })
    }
}

/// Bytes of the content that comes behind a header.
///
/// # Errors
/// If no message is so long.
pub fn content_len(header: [u8; HEADER]) -> Result<usize, BadMessage> {
    let len = u32::from_le_bytes(header) as usize;
    if len > MOST_BYTES { Err(BadMessage::TooLong(len as u64)) } else { Ok(len) }
}

/// Puts a header before content that was written behind room for one.
fn close(mut frame: Vec<u8>) -> Vec<u8> {
    let len = (frame.len() - HEADER) as u32;
    frame[..HEADER].copy_from_slice(&len.to_le_bytes());
    frame
}

fn open(kind: u8) -> Vec<u8> {
    vec![0, 0, 0, 0, kind]
}

fn put(frame: &mut Vec<u8>, bytes: &[u8]) {
    frame.extend((bytes.len() as u32).to_le_bytes());
    frame.extend(bytes);
}

impl Request {
    /// The message's frame.
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Request::Load(code) => {
                let mut frame = open(1);
                put(&mut frame, code);
                close(frame)
            }
            Request::Call(call) => close(encode_call(call)),
        }
    }

    /// Reads a frame's content.
    ///
    /// # Errors
    /// If it is no request.
    pub fn decode(content: &[u8]) -> Result<Self, BadMessage> {
        let mut reader = Reader(content);
        let request = match reader.array()? {
            [1] => Request::Load(reader.bytes()?.to_vec()),
            [2] => Request::Call(reader.call()?),
            [kind] => return Err(BadMessage::Kind(kind)),
        };
        reader.end().map(|()| request)
    }
}

fn encode_call(call: &Call) -> Vec<u8> {
    let mut frame = open(2);
    for number in [call.image, call.entry, call.most_ms, call.output, call.areas.len() as u32] {
        frame.extend(number.to_le_bytes());
    }
    for area in &call.areas {
        frame.extend(area.tag.to_le_bytes());
        frame.extend(area.len.to_le_bytes());
        frame.extend((area.runs.len() as u32).to_le_bytes());
        for run in &area.runs {
            for number in [run.offset, run.place, run.len] {
                frame.extend(number.to_le_bytes());
            }
        }
    }
    put(&mut frame, &call.input);
    frame
}

impl Reply {
    /// The message's frame.
    pub fn encode(&self) -> Vec<u8> {
        let mut frame;
        match self {
            Reply::Loaded(number) => {
                frame = open(1);
                frame.extend(number.to_le_bytes());
            }
            Reply::Done { output, ns } => {
                frame = open(2);
                frame.extend(ns.to_le_bytes());
                put(&mut frame, output);
            }
            Reply::Failed(why) => {
                frame = open(3);
                put(&mut frame, why.as_bytes());
            }
        }
        close(frame)
    }

    /// Reads a frame's content.
    ///
    /// # Errors
    /// If it is no reply.
    pub fn decode(content: &[u8]) -> Result<Self, BadMessage> {
        let mut reader = Reader(content);
        let reply = match reader.array()? {
            [1] => Reply::Loaded(reader.small()?),
            [2] => {
                let ns = reader.large()?;
                Reply::Done { output: reader.bytes()?.to_vec(), ns }
            }
            [3] => Reply::Failed(String::from_utf8_lossy(reader.bytes()?).into_owned()),
            [kind] => return Err(BadMessage::Kind(kind)),
        };
        reader.end().map(|()| reply)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn areas()(gaps in prop::collection::vec((0u64..1 << 40, 1u64..1 << 30, 0u64..1 << 50), 0..8),
                   tag: u64, rest in 0u64..1000) -> Area {
            let mut end = 0;
            let runs: Vec<Run> = gaps
                .into_iter()
                .map(|(gap, len, place)| {
                    let offset = end + gap;
                    end = offset + len;
                    Run { offset, place, len }
                })
                .collect();
            Area { tag, len: end + rest, runs }
        }
    }

    fn content(frame: &[u8]) -> &[u8] {
        let header = frame[..HEADER].try_into().expect("it is as long");
        assert_eq!(content_len(header), Ok(frame.len() - HEADER));
        &frame[HEADER..]
    }

    proptest! {
        #[test]
        fn requests_survive(areas in prop::collection::vec(areas(), 0..5), numbers: [u32; 3],
                            input: Vec<u8>, output in 0..=MOST_VALUES as u32) {
            let [image, entry, most_ms] = numbers;
            let load = Request::Load(input.clone());
            prop_assert_eq!(Request::decode(content(&load.encode())), Ok(load));
            let call = Request::Call(Call { image, entry, most_ms, areas, input, output });
            prop_assert_eq!(Request::decode(content(&call.encode())), Ok(call));
        }

        #[test]
        fn replies_survive(output: Vec<u8>, ns: u64, why: String, number: u32) {
            for reply in [Reply::Loaded(number), Reply::Done { output, ns }, Reply::Failed(why)] {
                prop_assert_eq!(Reply::decode(content(&reply.encode())), Ok(reply));
            }
        }

        #[test]
        fn whatever_comes_is_read_or_refused(bytes: Vec<u8>) {
            let _ = (Request::decode(&bytes), Reply::decode(&bytes));
        }

        #[test]
        fn what_is_cut_off_is_refused(area in areas(), cut in 1usize..40) {
            let call = Call { areas: vec![area], input: vec![7; 40], ..Call::default() };
            let frame = Request::Call(call).encode();
            let content = content(&frame);
            prop_assert!(Request::decode(&content[..content.len() - cut]).is_err());
        }
    }

    #[test]
    fn runs_that_overlap_or_leave_their_area_are_refused() {
        let run = |offset, place, len| Run { offset, place, len };
        for runs in [
            vec![run(0, 0, 10), run(9, 0, 10)],
            vec![run(90, 0, 11)],
            vec![run(u64::MAX, 0, 2)],
            vec![run(0, u64::MAX, 2)],
            vec![run(5, 5, 0)],
        ] {
            let areas = vec![Area { tag: 1 << 56, len: 100, runs }];
            let frame = Request::Call(Call { areas, ..Call::default() }).encode();
            assert_eq!(
                Request::decode(content(&frame)),
                Err(BadMessage::Value("a run of an area"))
            );
        }
    }
}
