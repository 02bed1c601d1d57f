//! A program to become, in the form the kernel takes it, so that its path stays where a filter knows it.

use std::{
    ffi::{CStr, CString},
    io,
};

/// The program, its arguments and its environment.
#[derive(Debug)]
pub(crate) struct Image {
    /// Outlives every filter that knows its address.
    path: &'static CStr,
    arguments: Texts,
    environment: Texts,
}

impl Image {
    pub(crate) fn new(path: &'static CStr, arguments: Vec<CString>, environment: Vec<CString>) -> Self {
        Self { path, arguments: Texts::new(arguments), environment: Texts::new(environment) }
    }

    /// Becomes the program; comes back only when that does not work.
    #[expect(
        unsafe_code,
        reason = "the standard library would execute a copy of the path at another address"
    )]
    pub(super) fn become_it(&self) -> io::Result<()> {
        // SAFETY: both lists end with null, and all texts outlive the call.
        unsafe {
            libc::execve(self.path.as_ptr(), self.arguments.list.as_ptr(), self.environment.list.as_ptr())
        };
        Err(io::Error::last_os_error())
    }
}

/// Texts and, for the kernel, where they are.
#[derive(Debug)]
struct Texts {
    list: Vec<*const libc::c_char>,
    _texts: Vec<CString>,
}

impl Texts {
    fn new(texts: Vec<CString>) -> Self {
        let list = texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect();
        Self { list, _texts: texts }
    }
}

#[expect(unsafe_code, reason = "pointers are not sent between threads by themselves")]
// SAFETY: the pointers lead to texts that the same value owns and nobody changes.
unsafe impl Send for Texts {}
#[expect(unsafe_code, reason = "pointers are not shared between threads by themselves")]
// SAFETY: as above.
unsafe impl Sync for Texts {}
