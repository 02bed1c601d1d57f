//! Archives with every trick.
