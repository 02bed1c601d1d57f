//! Any bytes as a zip, a tar and a bundle: read whole or refused, and what was read is written nowhere else.

use roost_apps::{BundleSource, ContainerLimits, Rules, Submission, read_tar, read_zip, validate_bundle};

/// Small, so that a bomb is found by its effect.
const LIMITS: ContainerLimits =
    ContainerLimits { archive_bytes_max: 1 << 20, entries_max: 64, content_bytes_max: 1 << 20 };

pub(crate) fn run(bytes: &[u8]) {
    for read in [read_zip(bytes, &LIMITS), read_tar(bytes, &LIMITS)] {
        match read {
            Err(refused) => assert!(!refused.is_empty()),
            Ok(files) => {
                assert!(files.len() <= LIMITS.entries_max);
                let total: usize = files.iter().map(|(_, content)| content.len()).sum();
                assert!(total as u64 <= LIMITS.content_bytes_max);
                for (path, _) in files.iter() {
                    assert!(
                        !path.starts_with('/')
                            && path.split('/').all(|part| !matches!(part, "" | "." | ".."))
                    );
                }
                let again = read_zip(&files.to_zip("root"), &ContainerLimits { entries_max: 64, ..LIMITS });
                // The folder makes paths longer, which may be too long.
                if let Ok(again) = again {
                    assert_eq!(again.below("root"), files);
                }
            }
        }
    }
    for rules in [Rules::Reference, Rules::Spec] {
        let report = validate_bundle(BundleSource::Zip(bytes), &Submission::default(), rules);
        assert_eq!(report.ok, report.errors.is_empty());
    }
}
