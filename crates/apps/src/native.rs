//! Native apps as packages: a signed program with a manifest, checked before anyone gets it.
//!
//! [`NativePackage`] is the proof that nothing is wrong with the files. Who vouches for them is decided by a
//! [`TrustList`], whose answer [`VerifiedPackage`] is what installing takes. Nothing is started, fetched or kept here.

mod code; // why a package is refused
mod strict_json; // JSON that means one thing
mod names; // ids, capabilities, hooks
mod settings; // what can be set
mod manifest; // what an app says about itself
mod front_matter; // the first lines of a text
mod skill; // what a model is told
mod binary; // what is a native program
mod signatures; // who vouches for what
mod package; // all of it together
mod public_key; // a key that may vouch
mod lists; // what stores say about keys and apps
mod trust; // whom a home believes
mod trust_file; // the same, on disk
mod report; // a package, told
mod arrival; // what a path holds
mod scaffold; // one to begin with

pub(crate) use self::names::is_version;
pub use self::{
    arrival::{NativeArrival, look_for_native},
    binary::{BINARY_BYTES_MAX, BinaryFormat, NAMES as BINARY_NAMES, check_binary, find_binary},
    code::{NativeCode, NativeError},
    lists::{Edition, KEY_LIST_BYTES_MAX, KeyList, OlderList, REVOCATIONS_BYTES_MAX, Revocations},
    manifest::{NativeManifest, OauthNeed},
    names::{Capability, HOOKS, NativeId, compare_versions, slug},
    package::NativePackage,
    public_key::PublicKey,
    report::{NativeReport, NativeSource, NativeSummary, validate_native},
    scaffold::NewNativeApp,
    settings::{SETTING_BYTES_MAX, SettingField, SettingKind, SettingOption, is_setting_key},
    signatures::{Covered, KeyId, Signatures},
    skill::Skill,
    trust::{
        CLOCK_TOLERANCE, Fetched, KEY_LIST_AGE_MAX, REVOCATIONS_AGE_MAX, TrustList, TrustedPublisher,
        TrustedStore, VerifiedPackage,
    },
};
pub use ed25519_dalek::SigningKey;
