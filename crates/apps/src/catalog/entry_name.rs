//! How a person names an app of a catalog: `id`, `@publisher/id`, either with `@version`.

use super::entry::{is_id, is_publisher, is_version};
use roost_protocol::{Failure, Reason};
use std::fmt;

/// A name that can be looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryName {
    /// The publisher, with the `@`.
    pub publisher: Option<String>,
    /// The id.
    pub id: String,
    /// The version; the current one when absent.
    pub version: Option<String>,
}

impl EntryName {
    /// Reads the four forms.
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let wrong = || {
            Failure::new(
                Reason::WrongUse,
                format!("`{}` is not the name of an app", super::entry::shown(text)),
            )
            .with_next("write id, @publisher/id, id@1.2.3 or @publisher/id@1.2.3")
        };
        let (publisher, rest) = match text.strip_prefix('@').and_then(|_| text.split_once('/')) {
            Some((publisher, rest)) => (Some(publisher), rest),
            None => (None, text),
        };
        let (id, version) = match rest.split_once('@') {
            Some((id, version)) => (id, Some(version)),
            None => (rest, None),
        };
        let fits = publisher.is_none_or(is_publisher) && is_id(id) && version.is_none_or(is_version);
        if !fits {
            return Err(wrong());
        }
        Ok(Self {
            publisher: publisher.map(str::to_owned),
            id: id.to_owned(),
            version: version.map(str::to_owned),
        })
    }
}

impl fmt::Display for EntryName {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(publisher) = &self.publisher {
            write!(to, "{publisher}/")?;
        }
        to.write_str(&self.id)?;
        self.version.as_ref().map_or(Ok(()), |version| write!(to, "@{version}"))
    }
}

#[cfg(test)]
mod tests {
    use super::EntryName;

    #[test]
    fn names_are_read_in_four_forms() {
        for text in ["tea", "rapp-zoo", "@ada/tea", "tea@1.0.0", "@ada/tea@1.20.3"] {
            assert_eq!(EntryName::parse(text).unwrap().to_string(), text);
        }
        let full = EntryName::parse("@ada/tea@1.0.0").unwrap();
        assert_eq!((full.publisher.as_deref(), full.version.as_deref()), (Some("@ada"), Some("1.0.0")));
        for bad in [
            "",
            "Tea",
            "@ada",
            "@/tea",
            "@ada/",
            "tea@",
            "tea@1",
            "tea@1.0.x",
            "a/b",
            "../tea",
            "@a/b/c",
            "tea\n",
            "@a b/c",
        ] {
            assert!(EntryName::parse(bad).is_err(), "{bad:?}");
        }
    }
}
