//! Every Rust file opens with what it is for, and a module's file is named like the module.

use super::Violation;
use crate::repository::Repository;

const FOLDERS: &[&str] = &["crates", "tests", "xtask"];

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in repository.rust().filter(|file| file.is_below(FOLDERS)) {
        if !file.text.starts_with("//! ") {
            violations.push(Violation::at(&file.path, 0, "open the file with `//!`: what, why, what not"));
        }
        if file.name() == "mod.rs" {
            violations
                .push(Violation::of_file(&file.path, "name the file like the module, beside its folder"));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tests::objections;

    #[test]
    fn a_file_opens_with_what_it_is_for() {
        let files = [
            ("crates/apps/src/good.rs", "//! Good.\nuse x;\n"),
            ("crates/apps/src/late.rs", "use x;\n//! Late.\n"),
            ("tests/it/outer.rs", "/// Not about the file.\n"),
            ("xtask/src/empty.rs", ""),
            ("examples/native/main.rs", "fn main() {}\n"),
        ];
        let expect = ["crates/apps/src/late.rs:1", "tests/it/outer.rs:1", "xtask/src/empty.rs:1"];
        assert_eq!(objections(check, &files), expect);
    }

    #[test]
    fn no_file_is_called_mod() {
        let files = [("crates/apps/src/package/mod.rs", "//! A package.\n")];
        assert_eq!(objections(check, &files), ["crates/apps/src/package/mod.rs"]);
    }
}
