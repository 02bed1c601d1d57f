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
mod model; // what a workspace should be
mod random; // random operations against the model
mod counter; // many writers of one file
mod steps; // every step fails once
mod kills; // the program or its server is killed
