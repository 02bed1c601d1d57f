//! The picture of an app: made from its name alone, so that everybody who makes it makes the same.

use roost_protocol::Digest;

const ROWS: u32 = 6;
/// Half of the columns; the other half is their mirror.
const COLUMNS: u32 = 3;
const CELL: u32 = 8;
/// Bits of the number that decide about cells.
const BITS: u32 = 28;

/// The identity of an app: its name, and the beginning of its digest.
pub(super) fn rappid(publisher: &str, id: &str) -> String {
    let name = format!("{publisher}/{id}");
    let digest = Digest::of(name.as_bytes()).to_string();
    format!("rappid:{name}:{}", &digest[..32])
}

/// The picture as SVG.
pub(super) fn sprite(rappid: &str, category: &str) -> String {
    let digest = Digest::of(rappid.as_bytes()).to_bytes();
    let number = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    let colours = palette(category);
    let colour = |number: u32| colours[(number % 3) as usize];
    let (front, back) = (colour(number), colour(number >> 4));
    let side = CELL * ROWS;
    let mut picture = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" width=\"{side}\" height=\"{side}\">\n\
         <rect width=\"{side}\" height=\"{side}\" fill=\"#{back}\" opacity=\"0.25\"/>\n"
    );
    for row in 0..ROWS {
        for column in 0..COLUMNS {
            if number >> ((row * COLUMNS + column) % BITS) & 1 == 0 {
                continue;
            }
            for column in [column, 2 * COLUMNS - 1 - column] {
                let (x, y) = (column * CELL, row * CELL);
                picture.push_str(&format!(
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"#{front}\"/>\n"
                ));
            }
        }
    }
    picture.push_str("</svg>\n");
    picture
}

fn palette(category: &str) -> [&'static str; 3] {
    match category {
        "creative" => ["b58ddf", "a78bfa", "8250df"],
        "work" => ["ffa657", "f78166", "bc4c00"],
        "productivity" => ["79c0ff", "58a6ff", "0969da"],
        "reflection" => ["7df0c8", "3fb950", "1a7f37"],
        _ => ["58a6ff", "79c0ff", "0969da"],
    }
}

#[cfg(test)]
mod tests {
    use super::{rappid, sprite};

    #[test]
    fn a_picture_follows_from_the_name_alone() {
        // sha256("@a/b") begins with 2bb5…; the identity keeps 32 digits of it.
        let id = rappid("@a", "b");
        assert!(id.starts_with("rappid:@a/b:") && id.len() == "rappid:@a/b:".len() + 32);
        let picture = sprite(&id, "creative");
        assert_eq!(picture, sprite(&id, "creative"));
        assert_ne!(picture, sprite(&id, "productivity"));
        assert!(picture.contains("viewBox=\"0 0 48 48\"") && picture.contains("opacity=\"0.25\""));
        // Every cell has its mirror.
        for line in picture.lines().filter(|line| line.contains("<rect x=")) {
            let x: u32 = line.split('"').nth(1).unwrap().parse().unwrap();
            assert!(picture.contains(&line.replacen(&format!("x=\"{x}\""), &format!("x=\"{}\"", 40 - x), 1)));
        }
    }
}
