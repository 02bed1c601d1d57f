//! Any text as a file with declared dependencies. Nothing that is taken may name an address or an option.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_apps::{PythonSource, PythonVersion, declared_dependencies, dependencies};

fuzz_target!(|text: &str| {
    if let Ok(Some(declared)) = declared_dependencies(text) {
        for requirement in &declared.required {
            let before_marker = requirement.split(';').next().unwrap_or_default();
            assert!(
                !requirement.starts_with('-') && !before_marker.contains(['@', ':', '/']),
                "{requirement}"
            );
        }
    }
    if let Ok(source) = PythonSource::parse(text.as_bytes(), PythonVersion::NEWEST) {
        let _result = dependencies(&source);
    }
});
