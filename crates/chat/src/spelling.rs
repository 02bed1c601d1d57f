//! Words that are nearly the same: how far two are apart, and which known word was probably meant.
//!
//! Small and exact rather than clever: a word list is scanned once per unknown word, and a set of letters per word
//! rules nearly all of it out before a distance is computed.

/// Known words, for finding the one that was meant.
#[derive(Debug, Default)]
pub(crate) struct WordList {
    words: Vec<KnownWord>,
}

#[derive(Debug)]
struct KnownWord {
    text: String,
    letters: u32,
}

impl WordList {
    /// Adds a word; only plain words of Latin letters are ever suggested.
    pub(crate) fn add(&mut self, word: &str) {
        if may_be_misspelt(word) {
            self.words.push(KnownWord { text: word.to_owned(), letters: letters(word) });
        }
    }

    /// Sorts by first letter and drops doubles; must come before `nearest`.
    pub(crate) fn finish(&mut self) {
        self.words.sort_unstable_by(|one, other| one.text.cmp(&other.text));
        self.words.dedup_by(|one, other| one.text == other.text);
    }

    /// The known word nearest to one that is not known, and its distance. The first letter is mostly typed right,
    /// and words that differ there mostly mean something else.
    pub(crate) fn nearest(&self, word: &str) -> Option<(&str, usize)> {
        if !may_be_misspelt(word) {
            return None;
        }
        let first = word.as_bytes()[0];
        let from = self.words.partition_point(|known| known.text.as_bytes()[0] < first);
        let upto = self.words.partition_point(|known| known.text.as_bytes()[0] <= first);
        let (mask, mut allowed, mut best) = (letters(word), edits_allowed(word.len()), None);
        for known in &self.words[from..upto] {
            // One edit changes at most two letters of the set.
            let letters_apart = (known.letters ^ mask).count_ones() as usize;
            if letters_apart > 2 * allowed || known.text.len().abs_diff(word.len()) > allowed {
                continue;
            }
            let apart = distance(&known.text, word);
            if apart <= allowed && best.is_none_or(|(_, least)| apart < least) {
                best = Some((known.text.as_str(), apart));
                allowed = apart;
            }
        }
        best
    }
}

/// Mistakes that are forgiven in a word of this length: short words become other words with one.
fn edits_allowed(length: usize) -> usize {
    match length {
        0..5 => 0,
        5..9 => 1,
        _ => 2,
    }
}

fn may_be_misspelt(word: &str) -> bool {
    (4..=WORD_BYTES_MAX).contains(&word.len()) && word.bytes().all(|letter| letter.is_ascii_lowercase())
}

/// Longer "words" are keys, hashes and links, and comparing them costs the square of their length.
const WORD_BYTES_MAX: usize = 32;

fn letters(word: &str) -> u32 {
    word.bytes().fold(0, |set, letter| set | 1 << (letter.wrapping_sub(b'a') & 31))
}

/// Edits between two words: a letter more, less or other, or two neighbours swapped. Long words count as far apart.
pub(crate) fn distance(one: &str, other: &str) -> usize {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    if one.len() > WORD_BYTES_MAX || other.len() > WORD_BYTES_MAX {
        return if one == other { 0 } else { WORD_BYTES_MAX };
    }
    let mut rows = [[0_usize; WORD_BYTES_MAX + 1]; 3];
    for (column, cell) in rows[1].iter_mut().enumerate() {
        *cell = column;
    }
    for (row, letter) in one.iter().enumerate() {
        rows[2][0] = row + 1;
        for (column, against) in other.iter().enumerate() {
            let changed = rows[1][column] + usize::from(letter != against);
            let mut least = changed.min(rows[1][column + 1] + 1).min(rows[2][column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *against {
                least = least.min(rows[0][column - 1] + 1);
            }
            rows[2][column + 1] = least;
        }
        rows.rotate_left(1);
    }
    rows[1][other.len()]
}

#[cfg(test)]
mod tests {
    use super::{WordList, distance};

    #[test]
    fn distance_counts_letters_and_swaps() {
        for (one, other, expect) in [
            ("", "", 0),
            ("", "abc", 3),
            ("weather", "wheather", 1),
            ("recieve", "receive", 1),
            ("cat", "dog", 3),
        ] {
            assert_eq!(distance(one, other), expect, "{one} {other}");
            assert_eq!(distance(other, one), expect, "{other} {one}");
        }
        assert_eq!(distance(&"a".repeat(99), &"a".repeat(99)), 0);
    }

    #[test]
    fn nearest_finds_the_word_meant_and_nothing_for_short_or_strange_ones() {
        let mut list = WordList::default();
        for word in ["translate", "weather", "whether", "train", "日本"] {
            list.add(word);
        }
        list.finish();
        assert_eq!(list.nearest("tranlsate"), Some(("translate", 1)));
        assert_eq!(list.nearest("wheather"), Some(("weather", 1)));
        assert_eq!(list.nearest("trai"), None);
        assert_eq!(list.nearest("日本語"), None);
        assert_eq!(list.nearest(""), None);
    }
}
