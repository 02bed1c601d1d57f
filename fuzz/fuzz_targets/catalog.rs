//! Any bytes as a catalog: reading never fails but with a reason, every entry keeps its text, no file name is a path,
//! and nothing that is searched for makes a search fail.

#![no_main]

use libfuzzer_sys::fuzz_target;
use roost_apps::catalog::{
    Catalog, CatalogAddress, CatalogSource, EntryName, FileName, Filters, JoinedCatalogs, LoadedSource,
    Places, RepositoryAddress,
};
use std::sync::Arc;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let _name = EntryName::parse(&text);
    let _repository = RepositoryAddress::parse(&text);
    let _file = FileName::parse(&text);
    let _address = CatalogAddress::parse(&text, &Places::default());
    // As a whole catalog, and as one entry of one.
    let wrapped = [br#"{"schema":"rapp-store/1.0","rapplications":["#, bytes, b"]}"].concat();
    for bytes in [bytes, &wrapped] {
        let Ok(catalog) = Catalog::parse(bytes) else { continue };
        for entry in &catalog.entries {
            assert!(entry.parts.iter().all(|part| !part.file_name.as_str().contains(['/', '\\', '\0'])));
            assert!(String::from_utf8_lossy(bytes).contains(entry.document().get()));
        }
        let address = CatalogAddress::Folder("/nowhere".into());
        let source = CatalogSource { id: "fuzz".to_owned(), address };
        let loaded =
            LoadedSource { source, catalog: Some(Arc::new(catalog)), fetched_at: None, failure: None };
        let joined = JoinedCatalogs::new(vec![loaded]);
        let query: String = text.chars().take(40).collect();
        let found = joined.search(&query, &Filters::default()).len();
        assert!(found <= joined.offers.len());
        for offer in &joined.offers {
            let name = EntryName::parse(&offer.entry.full_name()).expect("what is listed can be named");
            // More than one is an error that names them, which is an answer too.
            let _found = joined.find(&name);
        }
    }
});
