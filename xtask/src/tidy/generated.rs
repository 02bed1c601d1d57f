//! Documents that are written from code say what the code says.

use super::Violation;
use crate::{
    codegen::{REASONS_PATH, reasons},
    repository::Repository,
};

pub(super) fn check(repository: &Repository) -> Vec<Violation> {
    let is_fresh = repository.file(REASONS_PATH).is_some_and(|file| file.text == reasons());
    if is_fresh { Vec::new() } else { vec![Violation::of_file(REASONS_PATH, "run `cargo xtask codegen`")] }
}

#[cfg(test)]
mod tests {
    use super::{REASONS_PATH, check, reasons};
    use crate::tidy::tests::objections;

    #[test]
    fn a_stale_or_missing_list_of_reasons_is_seen() {
        assert!(objections(check, &[(REASONS_PATH, &reasons())]).is_empty());
        assert_eq!(objections(check, &[(REASONS_PATH, "# Reasons\n")]), [REASONS_PATH]);
        assert_eq!(objections(check, &[]), [REASONS_PATH]);
    }
}
