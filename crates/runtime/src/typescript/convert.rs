//! Turns the source of a TypeScript or JavaScript agent into a module that Node and Deno run as it is.
//!
//! Types go, import specifiers become absolute, the base class becomes the runner's own, and a source map leads
//! stack traces back to the lines of the original. Nothing is bundled and nothing is type-checked.

use oxc::{
    allocator::Allocator,
    ast::{
        AstKind,
        ast::{Argument, Expression, Program, Statement, StringLiteral},
    },
    codegen::{Codegen, CodegenOptions},
    diagnostics::Diagnostics,
    parser::Parser,
    semantic::{AstNode, Semantic, SemanticBuilder},
    span::{SourceType, Span},
    transformer::{
        DecoratorOptions, HelperLoaderMode, Module, TransformOptions, Transformer, TypeScriptOptions,
    },
};
use roost_protocol::{Failure, Reason};
use std::{
    fmt::Write,
    path::{Component, Path, PathBuf},
};

/// Largest source: it bounds the stack below, and no single-file agent comes near it.
const SOURCE_BYTES_MAX: usize = 512 << 10;

/// Stack per byte of source. The parser and its visitors recurse once per level of nesting, one byte can open a
/// level, and the most expensive shape measured takes a third of this. The pages are only reserved.
const STACK_BYTES_PER_SOURCE_BYTE: usize = 4 << 10;

/// Stack for everything that does not grow with the source.
const STACK_BYTES_MIN: usize = 4 << 20;

/// What to write instead of `require('./BasicAgent')`: the base class is an ES module, which `require` of older
/// Nodes cannot load, and the worker has put the class here.
const BASE_CLASS_GLOBAL: &str = "globalThis.BasicAgent";

/// A module that needs no further step before a runtime can import it.
#[derive(Debug)]
pub(crate) struct Converted {
    /// JavaScript with an inline source map.
    pub(crate) code: String,
    /// True for an ES module, false for CommonJS.
    pub(crate) is_module: bool,
}

/// Converts the source of the agent `file`, which is absolute.
///
/// Runs on a thread of its own, whose stack suits the worst nesting `source` can hold and whose end turns a panic
/// of the parser into a failure of this one file.
pub(crate) fn convert(source: &str, file: &Path, base_class_url: &str) -> Result<Converted, Failure> {
    if source.len() > SOURCE_BYTES_MAX {
        let message =
            format!("the source has {} bytes, at most {SOURCE_BYTES_MAX} can be converted", source.len());
        return Err(Failure::new(Reason::FileTooLarge, message));
    }
    let stack_bytes = STACK_BYTES_MIN + source.len() * STACK_BYTES_PER_SOURCE_BYTE;
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("convert".into())
            .stack_size(stack_bytes)
            .spawn_scoped(scope, || convert_here(source, file, base_class_url))
            .map_err(|error| Failure::new(Reason::Internal, format!("start the converter: {error}")))?
            .join()
            .unwrap_or_else(|_| Err(Failure::new(Reason::Internal, "the converter gave up on this file")))
    })
}

/// The `file:` URL of an absolute path.
pub(crate) fn file_url(path: &Path) -> String {
    let mut url = String::from("file://");
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => {
                url.push(char::from(byte))
            }
            _ => write!(url, "%{byte:02X}").expect("writing to a string cannot fail"),
        }
    }
    url
}

fn convert_here(source: &str, file: &Path, base_class_url: &str) -> Result<Converted, Failure> {
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let allocator = Allocator::default();
    let mut program = parse(&allocator, source, source_type(file))?;
    if program.body.iter().any(|statement| matches!(statement, Statement::TSExportAssignment(_))) {
        program = parse(&allocator, source, source_type(file).with_commonjs(true))?;
    }
    let analysed =
        SemanticBuilder::new().with_build_nodes(true).with_check_syntax_error(true).build(&program);
    first_error(&analysed.diagnostics, source)?;

    // The specifiers are rewritten in the text rather than in the tree: the tree is only readable here, each edit
    // keeps its line, and parsing again costs less than a millisecond.
    let is_module = program.source_type.is_module();
    let rewriting = Rewriting { file, base_class_url, is_module, semantic: &analysed.semantic };
    let edited = apply(source, rewriting.edits());
    print(&edited, program.source_type, file).map(|code| Converted { code, is_module })
}

fn source_type(file: &Path) -> SourceType {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("ts") => SourceType::ts(),
        Some("mts") => SourceType::ts().with_module(true),
        Some("cts") => SourceType::ts().with_commonjs(true),
        Some("mjs") => SourceType::mjs(),
        Some("cjs") => SourceType::cjs(),
        _ => SourceType::unambiguous(),
    }
}

fn parse<'a>(allocator: &'a Allocator, source: &'a str, kind: SourceType) -> Result<Program<'a>, Failure> {
    let parsed = Parser::new(allocator, source, kind).parse();
    first_error(&parsed.diagnostics, source)?;
    if parsed.panicked {
        return Err(Failure::plain(Reason::SyntaxError));
    }
    Ok(parsed.program)
}

/// Strips the types of source whose specifiers are final, and prints the rest.
fn print(source: &str, kind: SourceType, file: &Path) -> Result<String, Failure> {
    let allocator = Allocator::default();
    let mut program = parse(&allocator, source, kind)?;
    let analysed = SemanticBuilder::new().with_enum_eval(true).with_excess_capacity(2.0).build(&program);
    first_error(&analysed.diagnostics, source)?;
    let scoping = analysed.semantic.into_scoping();

    let transformed = Transformer::new(&allocator, file, &transform_options(kind))
        .build_with_scoping(scoping, &mut program);
    first_error(&transformed.diagnostics, source)?;

    let options = CodegenOptions {
        source_map_path: Some(file.to_path_buf()),
        // Indentation would let deep nesting grow the output with the square of the source.
        indent_width: 0,
        ..CodegenOptions::default()
    };
    let printed = Codegen::new().with_options(options).build(&program);
    let mut code = printed.code;
    if let Some(mut map) = printed.map {
        map.set_sources([file_url(file)]);
        // Without the text the runtimes read the original, which the edited text is not.
        map.set_source_contents(vec![None]);
        if !code.ends_with('\n') {
            code.push('\n');
        }
        code.push_str("//# sourceMappingURL=");
        code.push_str(&map.to_data_url());
        code.push('\n');
    }
    Ok(code)
}

fn transform_options(kind: SourceType) -> TransformOptions {
    let mut options = TransformOptions {
        typescript: TypeScriptOptions {
            // `name: string;` in a class would otherwise erase what the base class has just stored there.
            remove_class_fields_without_initializer: true,
            ..TypeScriptOptions::default()
        },
        decorator: DecoratorOptions { legacy: true, ..DecoratorOptions::default() },
        ..TransformOptions::default()
    };
    // The worker provides the two functions that decorators are turned into calls of.
    options.helper_loader.mode = HelperLoaderMode::External;
    options.env.module = if kind.is_module() { Module::Esm } else { Module::CommonJS };
    options
}

fn first_error(diagnostics: &Diagnostics, source: &str) -> Result<(), Failure> {
    let Some(error) = diagnostics.errors().next() else {
        return Ok(());
    };
    let message = error.message.lines().next().unwrap_or_default().trim().to_owned();
    let failure = Failure::new(Reason::SyntaxError, message);
    Err(match error.labels.first() {
        Some(label) => failure.at_line(line_of(source, label.offset())),
        None => failure,
    })
}

fn line_of(source: &str, offset: u32) -> u32 {
    let end = usize::try_from(offset).unwrap_or(usize::MAX).min(source.len());
    let line_breaks = source.as_bytes()[..end].iter().filter(|&&byte| byte == b'\n').count();
    u32::try_from(line_breaks).unwrap_or(u32::MAX).saturating_add(1)
}

struct Edit {
    span: Span,
    text: String,
}

/// Puts the edits into the source; every later line keeps its number.
fn apply(source: &str, mut edits: Vec<Edit>) -> String {
    edits.sort_by_key(|edit| edit.span.start);
    let mut edited = String::with_capacity(source.len() + 128 * edits.len());
    let mut copied = 0;
    for Edit { span, text } in edits {
        let (start, end) = (span.start as usize, span.end as usize);
        // An edit inside one that was already made has nothing left to replace.
        if start < copied {
            continue;
        }
        edited.push_str(&source[copied..start]);
        edited.push_str(&text);
        edited.extend(source[start..end].chars().filter(|&character| character == '\n'));
        copied = end;
    }
    edited.push_str(&source[copied..]);
    edited
}

/// Finds what in a file depends on where the file lies, because the converted module lies elsewhere.
struct Rewriting<'s, 'a> {
    file: &'s Path,
    base_class_url: &'s str,
    is_module: bool,
    semantic: &'s Semantic<'a>,
}

impl Rewriting<'_, '_> {
    fn edits(&self) -> Vec<Edit> {
        self.semantic.nodes().iter().filter_map(|node| self.edit(node)).collect()
    }

    fn edit(&self, node: &AstNode<'_>) -> Option<Edit> {
        match node.kind() {
            AstKind::ImportDeclaration(import) => self.import(&import.source),
            AstKind::ExportAllDeclaration(export) => self.import(&export.source),
            AstKind::ExportFromDeclaration(export) => self.import(&export.source),
            AstKind::ImportExpression(import) => match &import.source {
                Expression::StringLiteral(specifier) => self.import(specifier),
                _ => None,
            },
            AstKind::TSExternalModuleReference(reference) => {
                self.require(reference.span, &reference.expression)
            }
            AstKind::CallExpression(call) if !self.is_module => {
                match (&call.callee, call.arguments.as_slice()) {
                    (Expression::Identifier(callee), [Argument::StringLiteral(specifier)])
                        if callee.name == "require"
                            && self.semantic.is_reference_to_global_variable(callee) =>
                    {
                        self.require(call.span, specifier)
                    }
                    _ => None,
                }
            }
            AstKind::StaticMemberExpression(member) if matches!(member.object, Expression::ImportMeta(_)) => {
                Some(Edit { span: member.span, text: self.own_place(&member.property.name)? })
            }
            AstKind::IdentifierReference(name)
                if !self.is_module && self.semantic.is_reference_to_global_variable(name) =>
            {
                let place = self.own_place(&name.name)?;
                let text = match self.semantic.nodes().parent_kind(node.id()) {
                    AstKind::ObjectProperty(property) if property.shorthand => {
                        format!("{}: {place}", name.name)
                    }
                    _ => place,
                };
                Some(Edit { span: name.span, text })
            }
            _ => None,
        }
    }

    fn import(&self, specifier: &StringLiteral<'_>) -> Option<Edit> {
        let name = specifier.value.as_str();
        let url =
            if is_base_class(name) { self.base_class_url.to_owned() } else { file_url(&self.resolve(name)?) };
        Some(Edit { span: specifier.span, text: quoted(&url) })
    }

    fn require(&self, call: Span, specifier: &StringLiteral<'_>) -> Option<Edit> {
        let name = specifier.value.as_str();
        if is_base_class(name) {
            return Some(Edit { span: call, text: BASE_CLASS_GLOBAL.to_owned() });
        }
        let path = self.resolve(name)?;
        Some(Edit { span: specifier.span, text: quoted(&path.to_string_lossy()) })
    }

    /// What a file asks to learn where it lies: `import.meta.url` and its kin.
    fn own_place(&self, name: &str) -> Option<String> {
        let folder = self.file.parent()?;
        match (self.is_module, name) {
            (true, "url") => Some(quoted(&file_url(self.file))),
            (true, "filename") | (false, "__filename") => Some(quoted(&self.file.to_string_lossy())),
            (true, "dirname") | (false, "__dirname") => Some(quoted(&folder.to_string_lossy())),
            _ => None,
        }
    }

    /// The file a relative specifier means; none for packages, built-in modules and URLs.
    fn resolve(&self, specifier: &str) -> Option<PathBuf> {
        if !specifier.starts_with("./") && !specifier.starts_with("../") {
            return None;
        }
        let path = normalized(&self.file.parent()?.join(specifier));
        if path.is_file() {
            return Some(path);
        }
        let source = match path.extension().and_then(|extension| extension.to_str()) {
            Some("js") => path.with_extension("ts"),
            Some("mjs") => path.with_extension("mts"),
            Some("cjs") => path.with_extension("cts"),
            _ => with_suffix(&path, ".ts"),
        };
        let candidates = [source, with_suffix(&path, ".js"), with_suffix(&path, ".mjs")];
        Some(candidates.into_iter().find(|candidate| candidate.is_file()).unwrap_or(path))
    }
}

fn is_base_class(specifier: &str) -> bool {
    let last = specifier.rsplit('/').next().unwrap_or(specifier);
    let name = [".js", ".ts", ".mjs", ".mts", ".cjs", ".cts"]
        .iter()
        .find_map(|extension| last.strip_suffix(extension))
        .unwrap_or(last);
    let package = specifier.split('/').next().unwrap_or(specifier);
    matches!(name, "BasicAgent" | "basic_agent") || matches!(package, "openrappter" | "@openrappter")
}

fn normalized(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A JavaScript string literal; JSON strings are exactly that.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
