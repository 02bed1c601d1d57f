//! Whether this computer can run the llama.cpp that was built in. Asked before the first call into it.
//!
//! llama.cpp is built for a fixed set of instructions and would end with SIGILL on a computer without them.

/// The computer lacks instructions that the build uses.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("this computer's processor lacks {}, which this build of llama.cpp needs", missing.join(", "))]
pub(crate) struct Unsupported {
    missing: Vec<&'static str>,
}

/// Checks for all instructions that the build uses.
pub(crate) fn check() -> Result<(), Unsupported> {
    let missing: Vec<_> =
        present().into_iter().filter(|(_, present)| !present).map(|(name, _)| name).collect();
    if missing.is_empty() { Ok(()) } else { Err(Unsupported { missing }) }
}

/// What llama.cpp's build turns on where it is not told to build for the computer at hand only.
#[cfg(target_arch = "x86_64")]
fn present() -> Vec<(&'static str, bool)> {
    vec![
        ("SSE4.2", is_x86_feature_detected!("sse4.2")),
        ("AVX", is_x86_feature_detected!("avx")),
        ("AVX2", is_x86_feature_detected!("avx2")),
        ("FMA", is_x86_feature_detected!("fma")),
        ("F16C", is_x86_feature_detected!("f16c")),
        ("BMI2", is_x86_feature_detected!("bmi2")),
    ]
}

/// Elsewhere the build uses only what every computer of the kind has.
#[cfg(not(target_arch = "x86_64"))]
fn present() -> Vec<(&'static str, bool)> {
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let error = Unsupported { missing: vec!["AVX2", "FMA"] };
        assert_eq!(
            error.to_string(),
            "this computer's processor lacks AVX2, FMA, which this build of llama.cpp needs"
        );
    }
}
