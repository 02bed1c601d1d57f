//! What this kernel can enforce.

/// The version of Landlock this kernel has; `None` when it has none or it is switched off.
#[must_use]
#[expect(unsafe_code, reason = "the question has no safe form")]
pub fn landlock_abi() -> Option<u32> {
    const CREATE_RULESET_VERSION: libc::c_ulong = 1;
    // SAFETY: with this flag the call reads no memory and returns a number.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_landlock_create_ruleset,
            std::ptr::null::<libc::c_void>(),
            0 as libc::c_ulong,
            CREATE_RULESET_VERSION,
        )
    };
    u32::try_from(answer).ok().filter(|version| *version > 0)
}
