//! Messages and calls of the native contract, made from `proto/apps/v0` when this crate is built.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    clippy::all,
    clippy::allow_attributes_without_reason,
    reason = "made from the contract, of which the host uses a part"
)]

#[cfg(test)]
mod vectors; // as another implementation encodes them

tonic::include_proto!("apps.v0");
