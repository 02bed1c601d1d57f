//! Any bytes as a Python file: parsed or refused, for an old and for the newest interpreter.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_apps::{
    PythonSource, PythonVersion, has_docstring, has_manifest, manifest_fields, name_format,
    no_hardcoded_secrets,
};

fuzz_target!(|bytes: &[u8]| {
    for target in [PythonVersion { major: 3, minor: 10 }, PythonVersion::NEWEST] {
        if let Ok(source) = PythonSource::parse(bytes, target) {
            for check in [has_manifest, manifest_fields, name_format, has_docstring] {
                check(&source);
            }
            assert_eq!(no_hardcoded_secrets(source.text()).test, "no_hardcoded_secrets");
        }
    }
});
