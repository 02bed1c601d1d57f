//! Files with history, on both engines.

mod asking; // somebody with a token
mod bad_bodies; // what is no file
mod conditions; // If-Match and If-None-Match
mod contract; // the four operations
mod events; // what happened, live
mod files; // what becomes of a file
mod desk; // a running host, and its owner
mod history; // versions over HTTP
mod edits; // single lines and other names
mod batch; // several files at once
mod search; // where something stands
mod transfer; // to another place and back
mod rules; // what agents may do
mod cli; // the same from the command line
mod limits; // how much there may be
mod paths; // what a file may be called
mod switches; // what settings change
mod tokens; // who may ask
mod twice; // requests that are sent twice
mod model; // what a workspace should be
mod random; // random operations against the model
mod counter; // many writers of one file
mod together; // many writers of many files
mod steps; // every step fails once
mod kills; // the program or its server is killed
mod folders; // what agents write
