//! What conversion keeps, removes, rewrites and refuses.

use super::{SOURCE_BYTES_MAX, convert, file_url};
use roost_protocol::Reason;
use std::path::{Path, PathBuf};

const BASE: &str = "file:///runners/basic_agent.mjs";

/// The converted code without its source map.
fn code(name: &str, source: &str) -> String {
    let converted = convert(source, &Path::new("/agents").join(name), BASE).unwrap();
    converted.code.split("//# sourceMappingURL=").next().unwrap().trim_end().to_owned()
}

fn is_module(name: &str, source: &str) -> bool {
    convert(source, &Path::new("/agents").join(name), BASE).unwrap().is_module
}

#[test]
fn types_go_and_what_runs_stays() {
    insta::assert_snapshot!(code("a.ts", r"
        import { BasicAgent, type AgentMetadata } from './BasicAgent.js';
        import { AgentContext } from './types.js';
        import type { Other } from 'other';
        enum Mood { Happy, Sad = 'sad' }
        namespace Shape { export const side = 3; }
        export class Thing extends BasicAgent {
            name: string;
            private seen = new Map<string, number>();
            constructor(private readonly depth: number = 2) { super('Thing', {} as AgentMetadata); }
            async perform(kwargs: Record<string, unknown>): Promise<string> { return (kwargs.x as string)!; }
        }
    "), @r#"
    import { BasicAgent } from "file:///runners/basic_agent.mjs";
    var Mood = /* @__PURE__ */ function(Mood) {
    Mood[Mood["Happy"] = 0] = "Happy";
    Mood["Sad"] = "sad";
    return Mood;
    }(Mood || {});
    let Shape;
    (function(_Shape) {
    const side = _Shape.side = 3;
    })(Shape || (Shape = {}));
    export class Thing extends BasicAgent {
    seen = new Map();
    constructor(depth = 2) {
    super("Thing", {});
    this.depth = depth;
    }
    async perform(kwargs) {
    return kwargs.x;
    }
    }
    "#);
}

#[test]
fn every_way_to_name_the_base_class_leads_to_the_runner() {
    let specifiers =
        ["./BasicAgent.js", "../agents/BasicAgent", "./basic_agent.mjs", "basic_agent", "openrappter"];
    for specifier in specifiers.into_iter().chain(["openrappter/agents", "@openrappter/agents"]) {
        for source in [
            format!("import {{ BasicAgent }} from '{specifier}'; new BasicAgent();"),
            format!("export {{ BasicAgent }} from '{specifier}';"),
            format!("export * from '{specifier}';"),
            format!("await import('{specifier}');"),
        ] {
            assert!(code("a.ts", &source).contains(&format!("\"{BASE}\"")), "{source}");
        }
        let required = code("a.js", &format!("const {{ BasicAgent }} = require('{specifier}');"));
        assert_eq!(required, "const { BasicAgent } = globalThis.BasicAgent;", "{specifier}");
    }
}

#[test]
fn other_specifiers_keep_their_meaning() {
    assert_eq!(code("a.js", "import './x.js';"), r#"import "file:///agents/x.js";"#);
    assert_eq!(code("a.js", "import '../my lib/x.js';"), r#"import "file:///my%20lib/x.js";"#);
    assert_eq!(code("a.js", "require('./x');"), r#"require("/agents/x");"#);
    for source in
        [r#"import "node:fs";"#, r#"import "left-pad";"#, r#"import "npm:left-pad";"#, r#"require("fs");"#]
    {
        assert_eq!(code("a.js", source), source);
    }
    let shadowed = "function load(require) {\nreturn require(\"./x\");\n}";
    assert_eq!(code("a.js", shadowed), shadowed);
}

#[test]
fn a_missing_js_file_means_the_ts_file_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tool.ts"), "export const x = 1;").unwrap();
    for specifier in ["./tool.js", "./tool"] {
        let source = format!("import '{specifier}';");
        let converted = convert(&source, &folder.path().join("a.ts"), BASE).unwrap();
        assert!(converted.code.contains(&file_url(&folder.path().join("tool.ts"))), "{}", converted.code);
    }
}

#[test]
fn a_file_still_knows_where_it_lies() {
    assert_eq!(code("a.js", "export default import.meta.url;"), r#"export default "file:///agents/a.js";"#);
    assert_eq!(code("a.js", "f(__dirname);"), r#"f("/agents");"#);
    assert_eq!(code("a.js", "f({ __filename });"), r#"f({ __filename: "/agents/a.js" });"#);
}

#[test]
fn syntax_tells_modules_from_scripts() {
    for source in ["import 'x';", "export {};", "await f();"] {
        assert!(is_module("a.js", source), "{source}");
        assert!(is_module("a.ts", source), "{source}");
    }
    for source in ["module.exports = {};", "const x = require('x');", "async () => { await f(); };"] {
        assert!(!is_module("a.js", source), "{source}");
    }
    assert!(!is_module("a.ts", "import Base = require('./BasicAgent');\nexport = class extends Base {};"));
}

#[test]
fn a_syntax_error_names_its_line() {
    for (name, source, line) in [
        ("a.ts", "\n\nconst x: = 1;", 3),
        ("a.js", "const x: number = 1;", 1),
        ("a.js", "export {};\nlet a;\nlet a;", 2),
        ("a.ts", "class A {\n  perform( {\n", 3),
    ] {
        let failure = convert(source, &PathBuf::from("/agents").join(name), BASE).unwrap_err();
        assert_eq!((failure.reason, failure.line), (Reason::SyntaxError, Some(line)), "{failure:?}");
        assert!(!failure.message.is_empty() && !failure.message.contains('\n'), "{failure:?}");
    }
}

#[test]
fn the_source_map_names_the_original() {
    let converted = convert("let x: number = 1;", Path::new("/agents/my agent.ts"), BASE).unwrap();
    let url = converted.code.trim_end().rsplit_once('\n').unwrap().1;
    assert!(url.starts_with("//# sourceMappingURL=data:application/json;charset=utf-8;base64,"), "{url}");
    // Base64 of `"sources":["file:///agents/my%20agent.ts"]` at the offset it has in every map without names.
    assert!(url.contains("ZmlsZTovLy9hZ2VudHMvbXklMjBhZ2VudC50cy"), "{url}");
}

#[test]
fn hostile_input_is_an_answer_and_not_a_crash() {
    let deep = 20_000;
    for source in [
        format!("x = {}1{}", "(".repeat(deep), ")".repeat(deep)),
        format!("x = {}1", "!".repeat(deep)),
        format!("{}{}", "{".repeat(deep), "}".repeat(deep)),
        format!("x = 1{}", "+1".repeat(deep)),
        format!("let x: {}B{}", "A<".repeat(deep), ">".repeat(deep)),
        "[".repeat(deep),
        "\u{feff}#!/bin/x\n`${".into(),
        "\0\u{2028}'".into(),
        String::new(),
    ] {
        for name in ["a.ts", "a.js", "a"] {
            if let Ok(converted) = convert(&source, &Path::new("/agents").join(name), BASE) {
                assert!(converted.code.len() < 100 * source.len() + 1000);
            }
        }
    }
    let large = " ".repeat(SOURCE_BYTES_MAX + 1);
    assert_eq!(convert(&large, Path::new("/a.js"), BASE).unwrap_err().reason, Reason::FileTooLarge);
}
