//! Where the host keeps what must survive, and how much of it: `[workspace]` and `ROOST_DATABASE_URL`.

use roost_host::{StoreSettings, workspace::Limits};
use roost_protocol::{Failure, Reason};
use serde::Deserialize;

/// `[workspace]` of `roost.toml`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Workspace {
    enabled: Option<bool>,
    file_bytes_max: Option<i64>,
    files_max: Option<i64>,
    versions_max: Option<i64>,
    workspace_bytes_max: Option<i64>,
    test_seam: bool,
}

pub(super) fn settings(written: &Workspace, database_url: Option<&String>) -> Result<StoreSettings, Failure> {
    let usual = Limits::default();
    let limit = |name: &str, written: Option<i64>, usual: i64| match written {
        Some(value) if value < 1 => {
            let message = format!("[workspace]: `{name}` must be at least 1");
            Err(Failure::new(Reason::InvalidSettings, message))
        }
        written => Ok(written.unwrap_or(usual)),
    };
    let limits = Limits {
        file_bytes_max: limit("file_bytes_max", written.file_bytes_max, usual.file_bytes_max)?,
        files_max: limit("files_max", written.files_max, usual.files_max)?,
        versions_max: limit("versions_max", written.versions_max, usual.versions_max)?,
        workspace_bytes_max: limit(
            "workspace_bytes_max",
            written.workspace_bytes_max,
            usual.workspace_bytes_max,
        )?,
    };
    Ok(StoreSettings {
        database_url: database_url.cloned(),
        workspaces: written.enabled.unwrap_or(true),
        limits,
        test_seam: written.test_seam,
    })
}

#[cfg(test)]
mod tests {
    use super::{Workspace, settings};
    use roost_protocol::Reason;

    #[test]
    fn a_limit_of_nothing_is_refused() {
        let read = |text: &str| settings(&toml::from_str::<Workspace>(text).unwrap(), None);
        assert_eq!(read("files_max = 3").unwrap().limits.files_max, 3);
        assert_eq!(read("versions_max = 0").unwrap_err().reason, Reason::InvalidSettings);
        assert!(!read("enabled = false").unwrap().workspaces);
    }
}
