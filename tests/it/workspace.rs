//! Files with history, on both engines.

mod asking; // somebody with a token
mod bad_bodies; // what is no file
mod conditions; // If-Match and If-None-Match
mod contract; // the four operations
mod events; // what happened, live
mod files; // what becomes of a file
mod limits; // how much there may be
mod paths; // what a file may be called
mod switches; // what settings change
mod tokens; // who may ask
mod twice; // requests that are sent twice
