//! Files with history, on both engines.

mod files; // what becomes of a file
