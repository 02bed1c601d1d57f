//! What the program `workspace_writer` writes, so that whoever ends it knows what must be there.

/// Writers within the program.
pub const WRITER_TASKS: usize = 8;

/// Files that each of them writes in turn.
pub const WRITER_FILES_EACH: usize = 2;

/// Bytes of each content.
const CONTENT_BYTES: usize = 4096;

/// A content that begins so, and of which every byte follows from that.
#[must_use]
pub fn written_content(beginning: &str) -> Vec<u8> {
    let line = format!("{beginning}\n");
    line.bytes().cycle().take(CONTENT_BYTES).collect()
}
