//! Rows, sizes and times as people read them.

use jiff::Timestamp;
use serde_json::Value;

/// Rows with their columns below each other. The last column is as long as it is.
pub(super) fn aligned(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width =
        |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// A number of bytes in at most four digits.
pub(super) fn size(bytes: i64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    // Sizes of files are far from where a float is no longer exact to a tenth.
    let mut rest = bytes as f64 / 1024.0;
    let mut unit = UNITS[0];
    for next in &UNITS[1..] {
        if rest < 1000.0 {
            break;
        }
        rest /= 1024.0;
        unit = next;
    }
    format!("{rest:.1} {unit}")
}

/// A time of an answer, to the minute.
pub(super) fn time(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    match text.parse::<Timestamp>() {
        Ok(time) => time.strftime("%Y-%m-%d %H:%M UTC").to_string(),
        Err(_) => text.to_owned(),
    }
}

/// A text of an answer.
pub(super) fn word(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The rows of an answer.
pub(super) fn rows(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::{aligned, size};

    #[test]
    fn columns_stand_below_each_other() {
        let rows =
            [vec!["a".to_owned(), "ü".to_owned(), "x".to_owned()], vec!["bcd".to_owned(), "ef".to_owned()]];
        assert_eq!(aligned(&rows), ["a    ü   x", "bcd  ef"]);
        assert!(aligned(&[]).is_empty());
    }

    #[test]
    fn sizes_are_short() {
        for (bytes, shown) in
            [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1_500_000, "1.4 MiB"), (1 << 30, "1.0 GiB")]
        {
            assert_eq!(size(bytes), shown);
        }
    }
}
