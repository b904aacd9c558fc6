//! HTTP/2 frames as they pass by: how many bytes of them are header blocks.
//!
//! `h2` judges a list of header lines by what it unfolds to, and says no more than "protocol
//! error". So the blocks are counted where their bytes pass, before anything is unfolded: only
//! the nine bytes at the head of each frame are looked at (RFC 9113, 4.1).
//!
//! Cost: O(frames); 11 bytes of state.

/// Bytes at the head of a frame: length, kind, flags, stream.
const HEAD_BYTES: usize = 9;
const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;

/// Where in the frames a stream of bytes is.
#[derive(Default)]
pub(crate) struct Frames {
    head: [u8; HEAD_BYTES],
    head_len: usize,
    payload_left: usize,
}

impl Frames {
    /// Goes on by `bytes`; returns how many of them belong to header blocks.
    pub(crate) fn pass(&mut self, mut bytes: &[u8]) -> usize {
        let mut blocks = 0;
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                let passed = self.payload_left.min(bytes.len());
                blocks += if self.is_block() { passed } else { 0 };
                self.payload_left -= passed;
                bytes = &bytes[passed..];
                continue;
            }
            self.head[self.head_len] = bytes[0];
            self.head_len += 1;
            bytes = &bytes[1..];
            if self.head_len == HEAD_BYTES {
                let [high, middle, low, ..] = self.head;
                self.payload_left = u32::from_be_bytes([0, high, middle, low]) as usize;
                self.head_len = 0;
            }
        }
        blocks
    }

    fn is_block(&self) -> bool {
        matches!(self.head[3], HEADERS | CONTINUATION)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_blocks_are_counted_however_the_bytes_are_cut() {
        let frame = |kind: u8, payload: &[u8]| {
            let length = u8::try_from(payload.len()).unwrap();
            [&[0, 0, length, kind, 0, 0, 0, 0, 1], payload].concat()
        };
        let stream = [
            frame(4, &[]),
            frame(HEADERS, &[1; 200]),
            frame(CONTINUATION, &[9; 30]),
            frame(CONTINUATION, &[]),
            frame(0, &[1; 77]),
            frame(HEADERS, &[9; 4]),
        ]
        .concat();
        for size in 1..=stream.len() {
            let mut frames = Frames::default();
            let blocks: usize = stream.chunks(size).map(|part| frames.pass(part)).sum();
            assert_eq!(blocks, 234, "in pieces of {size}");
        }
    }
}
