//! What a model writes, read as it comes: text for the user, and calls of tools.
//!
//! Everything here works on pieces of any size, since a token may hold half a word or half a mark.

mod call_text; // calls in the form that the grammar writes
mod call_order; // several calls, none of them twice
mod listening; // text in which a call may begin
mod utf8; // characters that come in parts

pub(crate) use call_order::{CallOrder, News};
pub(crate) use call_text::{CallPart, CallText};
pub(crate) use listening::{Heard, Listening};
pub(crate) use utf8::Characters;
