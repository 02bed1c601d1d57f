//! The page of a rapplication: files without a manifest of their own, and an agent behind them.

use super::{
    content::PageContent,
    id::PageId,
    manifest::{PageDisplay, PageManifest, PageProblem, calling},
};
use crate::{container::Files, native::NativeId};
use roost_protocol::{AgentName, Ask, Asks, Evidence, Right};

/// What is known of an installed bundle's page.
#[derive(Debug, Clone)]
pub struct BundlePage {
    /// The bundle's id.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// Its version.
    pub version: String,
    /// What it does.
    pub summary: Option<String>,
    /// Who published it.
    pub publisher: Option<String>,
    /// The HTML file it begins with.
    pub entry: String,
    /// The agent behind it.
    pub agent: Option<AgentName>,
    /// Whether the app is a program that answers its page itself.
    pub native: bool,
    /// Files of the page, by their path from its folder.
    pub files: Vec<(String, Vec<u8>)>,
}

impl PageContent {
    /// A bundle's page as something that can be mounted. It asks for its agent, and for conversations; that of a native
    /// app asks the host for nothing.
    pub fn of_bundle(bundle: BundlePage) -> Result<Self, Vec<PageProblem>> {
        let id = match NativeId::parse(&bundle.id).filter(|_| bundle.native) {
            Some(id) => PageId::of_native(&id),
            None => PageId::of_bundle(&bundle.id)
                .map_err(|error| vec![PageProblem { field: "id".to_owned(), message: error.to_string() }])?,
        };
        let files = Files::from_contents(bundle.files).map_err(|refused| {
            let problem =
                |one: crate::Refused| PageProblem { field: "files".to_owned(), message: one.to_string() };
            refused.into_iter().map(problem).collect::<Vec<_>>()
        })?;
        let every = "agents:call:*".parse().ok();
        let rights = match bundle.native {
            true => [None, None, None],
            false => [bundle.agent.as_ref().and_then(calling), every, Some(Right::Model)],
        };
        let ask = |right| Ask { right, evidence: Evidence::Source, line: None, original: None };
        let manifest = PageManifest {
            id,
            name: bundle.name,
            version: bundle.version,
            entry: bundle.entry,
            description: bundle.summary,
            author: bundle.publisher,
            icon: None,
            created: None,
            updated: None,
            // What it tries besides may be granted later.
            asks: Asks { declared: bundle.native, asks: rights.into_iter().flatten().map(ask).collect() },
            agent: bundle.agent,
            native: bundle.native,
            display: PageDisplay::default(),
            auto_mount: false,
            unknown_keys: Vec::new(),
        };
        Self::checked(manifest, files)
    }
}

#[cfg(test)]
mod tests {
    use super::{BundlePage, PageContent};
    use roost_protocol::AgentName;

    #[test]
    fn a_bundles_page_asks_for_its_agent_and_conversations() {
        let bundle = BundlePage {
            id: "book_factory".to_owned(),
            name: "Book Factory".to_owned(),
            version: "1.2.0".to_owned(),
            summary: None,
            publisher: Some("ada".to_owned()),
            entry: "index.html".to_owned(),
            agent: AgentName::parse("BookFactory").ok(),
            native: false,
            files: vec![("index.html".to_owned(), b"<h1>x</h1>".to_vec())],
        };
        let page = PageContent::of_bundle(bundle.clone()).unwrap();
        let asks: Vec<String> = page.manifest().asks.asks.iter().map(|ask| ask.right.to_string()).collect();
        assert_eq!(asks, ["agents:call:BookFactory", "agents:call:*", "model"]);
        for (id, entry) in [("../x", "index.html"), ("book_factory", "main.html"), ("", "index.html")] {
            let bundle = BundlePage { id: id.to_owned(), entry: entry.to_owned(), ..bundle.clone() };
            assert!(PageContent::of_bundle(bundle).is_err(), "{id} {entry}");
        }
    }
}
