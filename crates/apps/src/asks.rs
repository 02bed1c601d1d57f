//! What rights an agent file asks for, found in its text without running it.
//!
//! A declaration in the file is the whole truth. Without one the source is read: environment variables, addresses,
//! files and programs that it names. What is computed at run time is not seen here; the agent is then refused, and
//! the refusal says which right was missing.

mod urls; // computers in addresses
mod findings; // what was found so far, and what follows from all of it
mod network_libraries; // modules that reach the network
mod declared; // `[tool.roost]`
mod python; // Python, from its tree
mod typescript; // TypeScript and JavaScript, from their words

pub(crate) use self::{findings::Found, python::in_module};

use crate::{
    python_source::{PythonSource, PythonVersion},
    script_block::Comment,
};
use declared::declared;
use roost_protocol::{Asks, Failure, Language, Reason};

/// What a file of this language asks for. A Python file must parse for an interpreter of version `target`.
pub fn asks(language: Language, bytes: &[u8], target: PythonVersion) -> Result<Asks, Failure> {
    match language {
        Language::Python => python_asks(&PythonSource::parse(bytes, target)?),
        Language::TypeScript => {
            let text = std::str::from_utf8(bytes).map_err(|error| {
                let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
                Failure::new(Reason::WrongEncoding, "the file is not UTF-8")
                    .at_line(u32::try_from(line).unwrap_or(u32::MAX))
            })?;
            typescript_asks(text.strip_prefix('\u{feff}').unwrap_or(text))
        }
    }
}

/// What Python source that was already parsed asks for.
pub fn python_asks(source: &PythonSource) -> Result<Asks, Failure> {
    match declared(source.text(), Comment::Hash)? {
        Some(asks) => Ok(asks),
        None => Ok(source.found().asks()),
    }
}

fn typescript_asks(text: &str) -> Result<Asks, Failure> {
    match declared(text, Comment::Slashes)? {
        Some(asks) => Ok(asks),
        None => Ok(typescript::in_text(text).asks()),
    }
}

#[cfg(test)]
mod tests;
