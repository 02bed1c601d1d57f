//! A native app to begin with: the example `greeter` under another name, with the contract beside it. It is built and
//! answers as it is.

use super::names::NativeId;
use crate::container::{Files, Refused};
use roost_protocol::AgentName;

/// The name that the example has, in small letters and as a word for people.
const NAME: &str = "greeter";
const TITLE: &str = "Greeter";

/// Files of the example, in which its name is replaced.
const NAMED: [(&str, &str); 11] = [
    ("Cargo.toml", include_str!("../../../../examples/native/greeter/Cargo.toml")),
    ("Makefile", include_str!("../../../../examples/native/greeter/Makefile")),
    ("README.md", include_str!("../../../../examples/native/greeter/README.md")),
    ("SKILL.md", include_str!("../../../../examples/native/greeter/SKILL.md")),
    ("build.rs", include_str!("../../../../examples/native/greeter/build.rs")),
    ("manifest.json", include_str!("../../../../examples/native/greeter/manifest.json")),
    ("src/main.rs", include_str!("../../../../examples/native/greeter/src/main.rs")),
    ("src/page.rs", include_str!("../../../../examples/native/greeter/src/page.rs")),
    ("src/tool.rs", include_str!("../../../../examples/native/greeter/src/tool.rs")),
    ("ui/index.html", include_str!("../../../../examples/native/greeter/ui/index.html")),
    ("ui/page.js", include_str!("../../../../examples/native/greeter/ui/page.js")),
];

/// The contract, as it is.
const CONTRACT: [(&str, &str); 8] = [
    ("proto/apps/v0/channel.proto", include_str!("../../../../proto/apps/v0/channel.proto")),
    ("proto/apps/v0/comm.proto", include_str!("../../../../proto/apps/v0/comm.proto")),
    ("proto/apps/v0/common.proto", include_str!("../../../../proto/apps/v0/common.proto")),
    ("proto/apps/v0/gateway.proto", include_str!("../../../../proto/apps/v0/gateway.proto")),
    ("proto/apps/v0/hooks.proto", include_str!("../../../../proto/apps/v0/hooks.proto")),
    ("proto/apps/v0/schedule.proto", include_str!("../../../../proto/apps/v0/schedule.proto")),
    ("proto/apps/v0/tool.proto", include_str!("../../../../proto/apps/v0/tool.proto")),
    ("proto/apps/v0/ui.proto", include_str!("../../../../proto/apps/v0/ui.proto")),
];

/// Longest name; it is also the name of a program.
const NAME_CHARACTERS_MAX: usize = 40;

/// What is to be made.
#[derive(Debug, Clone)]
pub struct NewNativeApp {
    /// The name of its folder, its program and its tool.
    name: AgentName,
    /// Its id.
    id: NativeId,
}

impl NewNativeApp {
    /// Checks the name: small letters, digits, `_` and `-`, a letter first. Without an id it is `com.example.NAME`.
    #[must_use]
    pub fn parse(name: &str, id: Option<&str>) -> Option<Self> {
        let fits =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
        let is_name = name.len() <= NAME_CHARACTERS_MAX
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.ends_with(|last: char| last.is_ascii_alphanumeric())
            && name.chars().all(fits);
        let usual = format!("com.example.{name}");
        let id = NativeId::parse(id.unwrap_or(&usual))?;
        is_name.then(|| AgentName::parse(name).ok()).flatten().map(|name| Self { name, id })
    }

    /// Its name, which is also the name of its folder.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &NativeId {
        &self.id
    }

    /// Its files, from its folder.
    pub fn files(&self) -> Result<Files, Vec<Refused>> {
        let name = self.name();
        let mut title = name.replace(['_', '-'], " ");
        title[..1].make_ascii_uppercase();
        let fill = |text: &str| {
            text.replace(&format!("com.example.{NAME}"), self.id.as_str())
                .replace(NAME, name)
                .replace(TITLE, &title)
                .into_bytes()
        };
        let named = NAMED.iter().map(|(path, text)| {
            let mut content = fill(text);
            if *path == "Cargo.toml" {
                // Wherever its folder is put, it belongs to nobody else's workspace.
                content.extend_from_slice(b"\n[workspace]\n");
            }
            ((*path).to_owned(), content)
        });
        let contract = CONTRACT.iter().map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()));
        Files::from_contents(named.chain(contract))
    }
}

#[cfg(test)]
mod tests {
    use super::NewNativeApp;
    use crate::native::NativeManifest;

    #[test]
    fn a_new_app_has_its_own_name_everywhere_and_a_manifest_that_holds() {
        let app = NewNativeApp::parse("tea-time", None).unwrap();
        let files = app.files().unwrap();
        let text = |path: &str| String::from_utf8(files.get(path).unwrap().to_vec()).unwrap();
        let manifest = NativeManifest::parse(text("manifest.json").as_bytes()).unwrap();
        assert_eq!((manifest.id.as_str(), manifest.name.as_str()), ("com.example.tea-time", "Tea time"));
        assert_eq!(manifest.provides[0].to_string(), "tool:tea-time");
        for (path, _) in files.iter() {
            assert!(!text(path).to_lowercase().contains("greeter"), "{path}");
        }
        assert!(text("Cargo.toml").ends_with("[workspace]\n"));
    }

    #[test]
    fn names_that_are_no_program_and_ids_that_are_no_folder_are_refused() {
        for name in ["", "Tea", "1tea", "tea time", "../tea", "tea-", &"t".repeat(41)] {
            assert!(NewNativeApp::parse(name, None).is_none(), "{name}");
        }
        assert!(NewNativeApp::parse("tea", Some("../tea")).is_none());
        assert_eq!(NewNativeApp::parse("tea", Some("org.tea")).unwrap().id().as_str(), "org.tea");
    }
}
