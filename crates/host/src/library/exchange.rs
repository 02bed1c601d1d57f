//! An app as one file: `rapp-egg/1.0`, with its agent, its service, its page and what it keeps for itself.

use super::{AppLibrary, now};
use crate::folders::FolderFiles;
use roost_apps::{Files, library::EGG_SCHEMA};
use roost_protocol::{Failure, Reason};
use serde_json::json;

/// Most that an exported state may hold: the import takes no more.
const STATE_BYTES_MAX: u64 = 16 << 20;

impl AppLibrary {
    /// The app as a zip, and what that is called.
    pub fn export(&self, id: &str) -> Result<(String, Vec<u8>), Failure> {
        let app = self.record(id)?;
        let current = &app.current;
        let files = self.disk().files(&app, current)?;
        let mut contents = Vec::new();
        let mut manifest = json!({
            "schema": EGG_SCHEMA, "type": "rapplication", "id": app.id, "name": app.name,
            "version": current.shown_version(), "exported_at": now(),
        });
        if let Some(publisher) = &app.publisher {
            manifest["publisher"] = json!(publisher);
        }
        for (key, inside, part) in [
            ("agent_filename", "agent.py", &current.agent),
            ("service_filename", "service.py", &current.service),
        ] {
            let Some(part) = part else { continue };
            manifest[key] = json!(part.file_name);
            contents.push((inside.to_owned(), files.get(&part.path).unwrap_or_default().to_vec()));
        }
        if let Some(page) = &current.page {
            manifest["ui_filename"] = json!(page.file_name);
            let folder = page.path.rsplit_once('/').map_or("", |(folder, _)| folder);
            let below = |path: &str| match folder {
                "" => (path == page.path).then(|| path.to_owned()),
                folder => path.strip_prefix(folder)?.strip_prefix('/').map(str::to_owned),
            };
            let pages = files.iter().filter_map(|(path, bytes)| Some((below(path)?, bytes)));
            contents.extend(pages.map(|(path, bytes)| (format!("ui/{path}"), bytes.to_vec())));
        }
        let state = FolderFiles::open(&self.disk().places().state(id))?;
        let mut together = 0;
        for name in state.names()? {
            let Some(bytes) = state.read(&name, STATE_BYTES_MAX)? else { continue };
            together += bytes.len() as u64;
            if together > STATE_BYTES_MAX {
                let message = format!("what {id} keeps for itself is more than {STATE_BYTES_MAX} bytes");
                return Err(Failure::new(Reason::FileTooLarge, message));
            }
            contents.push((format!("state/{name}"), bytes));
        }
        let text = serde_json::to_vec_pretty(&manifest)
            .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
        contents.push(("manifest.json".to_owned(), text));
        let files = Files::from_contents(contents).map_err(|refused| {
            let what = refused.first().map(ToString::to_string).unwrap_or_default();
            Failure::new(Reason::InvalidFileName, what)
        })?;
        Ok((format!("{id}.rapplication.egg"), files.to_flat_zip()))
    }

    /// Puts state that came with an app where it keeps it. What is there already stays.
    pub(super) fn restore_state(&self, id: &str, state: Vec<(String, Vec<u8>)>) -> Result<usize, Failure> {
        if state.is_empty() {
            return Ok(0);
        }
        let folder = FolderFiles::open(&self.disk().places().state(id))?;
        let there = folder.names()?;
        let mut restored = 0;
        for (name, bytes) in state.into_iter().filter(|(name, _)| !there.contains(name)) {
            folder.write(&name, &bytes)?;
            restored += 1;
        }
        Ok(restored)
    }
}
