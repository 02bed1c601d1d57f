//! Line numbers of byte offsets, counted as Python counts lines: `\n`, `\r\n` and `\r` end one.

use ruff_text_size::TextSize;

/// Where each line after the first begins.
pub(super) struct Lines(Vec<u32>);

impl Lines {
    pub(super) fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut starts = Vec::with_capacity(bytes.len() / 32);
        let ends = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(|index| ends_line(bytes, *index));
        starts.extend(ends.map(|index| u32::try_from(index + 1).unwrap_or(u32::MAX)));
        Self(starts)
    }

    /// The number of the line this offset is in, from 1.
    pub(super) fn line_of(&self, offset: TextSize) -> u32 {
        let before = self.0.partition_point(|start| *start <= offset.to_u32());
        u32::try_from(before).unwrap_or(u32::MAX - 1) + 1
    }
}

/// The number of the line after this many bytes, from 1. For one look-up, where no index is worth making.
pub(crate) fn line_at(bytes: &[u8], offset: usize) -> u32 {
    let before = &bytes[..offset.min(bytes.len())];
    let ends = memchr::memchr2_iter(b'\n', b'\r', before).filter(|index| ends_line(bytes, *index));
    u32::try_from(ends.count()).unwrap_or(u32::MAX - 1) + 1
}

/// Of a `\r\n` only the second.
fn ends_line(bytes: &[u8], index: usize) -> bool {
    bytes[index] == b'\n' || bytes.get(index + 1) != Some(&b'\n')
}

#[cfg(test)]
mod tests {
    use super::{Lines, line_at};
    use proptest::prelude::*;
    use ruff_text_size::TextSize;

    #[test]
    fn every_kind_of_line_end_counts_once() {
        let text = "a\nb\r\nc\rd";
        let lines = Lines::of(text);
        let numbers: Vec<u32> = ["a", "b", "c", "d"]
            .iter()
            .map(|letter| lines.line_of(TextSize::try_from(text.find(letter).unwrap()).unwrap()))
            .collect();
        assert_eq!(numbers, [1, 2, 3, 4]);
    }

    proptest! {
        #[test]
        fn both_ways_of_counting_agree(text in "[a\n\r]{0,40}", offset in 0_usize..40) {
            let offset = offset.min(text.len());
            let size = TextSize::try_from(offset).unwrap();
            prop_assert_eq!(Lines::of(&text).line_of(size), line_at(text.as_bytes(), offset));
        }
    }
}
