//! Scripts that the host gives to pages, from the folder `web/bridge/sdk`.

/// Where a host page looks whether host names of pages resolve.
pub(super) const PROBE_PATH: &str = "/apps/_sdk/probe.html";

pub(super) use roost_host::pages::sdk::{PROBE, script};

/// The page with the script before all of its own that pages with an agent behind them rely on.
pub(super) fn with_shim(html: &[u8], base: &str) -> Vec<u8> {
    let lower = html.to_ascii_lowercase();
    let find = |wanted: &[u8], from: usize| {
        lower[from..].windows(wanted.len()).position(|window| window == wanted).map(|at| from + at)
    };
    let opening = ["<head", "<html", "<!doctype"].iter().find_map(|tag| find(tag.as_bytes(), 0));
    let at = opening.and_then(|start| find(b">", start)).map_or(0, |end| end + 1);
    let script = format!("<script src=\"{base}/apps/_sdk/rapp-shim.js\"></script>");
    [&html[..at], script.as_bytes(), &html[at..]].concat()
}

#[cfg(test)]
mod tests {
    use super::with_shim;

    #[test]
    fn the_shim_stands_before_every_other_script() {
        let shimmed = |html: &str| String::from_utf8(with_shim(html.as_bytes(), "http://x")).unwrap();
        let script = "<script src=\"http://x/apps/_sdk/rapp-shim.js\"></script>";
        assert_eq!(
            shimmed("<!DOCTYPE html><HEAD lang=a><script>"),
            format!("<!DOCTYPE html><HEAD lang=a>{script}<script>")
        );
        assert_eq!(shimmed("<p>x"), format!("{script}<p>x"));
        assert_eq!(shimmed("<!doctype html><p>x"), format!("<!doctype html>{script}<p>x"));
        assert_eq!(shimmed("<head"), format!("{script}<head"));
    }
}
