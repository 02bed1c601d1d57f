//! The gate, by cases.
