//! What names stand for: imported modules, and variables that get a value once.
//!
//! Scopes are not told apart. A name that is bound more than once stands for nothing, and a wrong guess only adds or
//! leaves out an ask.

use super::walk::statements;
use ruff_python_ast::{
    Expr, ExprAttribute, FStringPart, InterpolatedStringElement, Number, Operator, Parameters, Stmt,
    StmtImportFrom,
};
use std::collections::{HashMap, HashSet};

/// Longest chain of attributes that can mean something here: `os.environ.get` has two.
const ATTRIBUTES_MAX: usize = 6;

/// Most steps from a name to its value. Bounds both the recursion and names that lead to each other.
pub(super) const STEPS_MAX: usize = 64;

/// Longest text that is put together from constants: addresses and names are shorter.
pub(super) const TEXT_BYTES_MAX: usize = 4096;

/// Stands for what is not known in a text; the reader of addresses takes it as that.
pub(super) const UNKNOWN: &str = "{}";

/// What the names of a module stand for.
#[derive(Default)]
pub(super) struct Names<'a> {
    imported: HashMap<&'a str, String>,
    /// Nothing for names that get more than one value.
    variables: HashMap<&'a str, Option<&'a Expr>>,
    attributes: HashMap<&'a str, Option<&'a Expr>>,
    /// What a loop goes through, by the name of its variable.
    loops: HashMap<&'a str, &'a Expr>,
    defined: HashSet<&'a str>,
}

/// How much may still be looked up for one question.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new() -> Self {
        Self(STEPS_MAX)
    }

    /// Takes one step; nothing when there are none left.
    pub(super) fn step(&mut self) -> Option<()> {
        self.0 = self.0.checked_sub(1)?;
        Some(())
    }
}

impl<'a> Names<'a> {
    pub(super) fn of(body: &'a [Stmt]) -> Self {
        let mut names = Self::default();
        statements(body, |statement| names.learn(statement));
        names
    }

    fn learn(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::Import(import) => {
                for alias in &import.names {
                    let whole = alias.name.as_str();
                    // `import os.path` binds `os`.
                    let first = whole.split('.').next().unwrap_or(whole);
                    let (name, module) =
                        alias.asname.as_ref().map_or((first, first), |name| (name.as_str(), whole));
                    self.imported.insert(name, module.to_owned());
                }
            }
            Stmt::ImportFrom(import) => self.learn_imported(import),
            Stmt::Assign(assign) => {
                assign.targets.iter().for_each(|target| self.bind(target, Some(&assign.value)))
            }
            Stmt::AnnAssign(assign) if assign.value.is_some() => {
                self.bind(&assign.target, assign.value.as_deref())
            }
            Stmt::AugAssign(assign) => self.bind(&assign.target, None),
            Stmt::For(inner) => self.learn_loop(&inner.target, &inner.iter),
            Stmt::FunctionDef(function) => {
                self.defined.insert(function.name.as_str());
                self.learn_parameters(&function.parameters);
            }
            Stmt::ClassDef(class) => drop(self.defined.insert(class.name.as_str())),
            _ => {}
        }
    }

    fn learn_imported(&mut self, import: &'a StmtImportFrom) {
        let module = import.module.as_ref().map_or("", |module| module.as_str());
        for alias in &import.names {
            let name = alias.asname.as_ref().unwrap_or(&alias.name).as_str();
            self.imported.insert(name, format!("{module}.{}", alias.name));
        }
    }

    /// A parameter hides the variable of its name, and its value is the caller's.
    fn learn_parameters(&mut self, parameters: &'a Parameters) {
        for parameter in parameters.iter_non_variadic_params() {
            self.variables.insert(parameter.name().as_str(), None);
        }
    }

    /// Remembers `for name in values`, of a statement or inside an expression.
    pub(super) fn learn_loop(&mut self, target: &'a Expr, values: &'a Expr) {
        if let Expr::Name(name) = target {
            self.loops.insert(name.id.as_str(), values);
        }
    }

    fn bind(&mut self, target: &'a Expr, value: Option<&'a Expr>) {
        let (map, name) = match target {
            Expr::Name(name) => (&mut self.variables, name.id.as_str()),
            Expr::Attribute(attribute) if is_own(attribute) => {
                (&mut self.attributes, attribute.attr.as_str())
            }
            _ => return,
        };
        map.entry(name).and_modify(|known| *known = None).or_insert(value);
    }

    /// True when the module itself defines a function or class of this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// The value of a variable, or of an attribute of the agent itself, that gets one once.
    pub(super) fn value(&self, expression: &Expr) -> Option<&'a Expr> {
        match expression {
            Expr::Name(name) => self.variables.get(name.id.as_str()).copied().flatten(),
            Expr::Attribute(attribute) if is_own(attribute) => {
                let name = attribute.attr.as_str();
                self.attributes.get(name).or_else(|| self.variables.get(name)).copied().flatten()
            }
            _ => None,
        }
    }

    /// The full name of what is meant, for example `os.environ.get`, however it was imported.
    pub(super) fn full_name(&self, expression: &Expr) -> Option<String> {
        let mut attributes: [&str; ATTRIBUTES_MAX] = [""; ATTRIBUTES_MAX];
        let mut count = 0;
        let mut at = expression;
        let mut budget = Budget::new();
        let mut name = loop {
            budget.step()?;
            match at {
                Expr::Attribute(attribute) => {
                    *attributes.get_mut(count)? = attribute.attr.as_str();
                    count += 1;
                    at = &attribute.value;
                }
                Expr::Name(name) => match (self.imported.get(name.id.as_str()), self.value(at)) {
                    (Some(module), _) => break module.clone(),
                    (None, Some(value @ (Expr::Name(_) | Expr::Attribute(_)))) => at = value,
                    (None, _) => break name.id.as_str().to_owned(),
                },
                _ => return None,
            }
        };
        for attribute in attributes[..count].iter().rev() {
            name.push('.');
            name.push_str(attribute);
        }
        Some(name)
    }

    /// The text an expression has, as far as it is known; nothing when it is no text.
    pub(super) fn text(&self, expression: &Expr) -> Option<String> {
        let mut text = String::new();
        self.write_text(expression, &mut text, &mut Budget::new())?;
        Some(text)
    }

    /// Every text an expression can have: one, or each that a loop goes through.
    pub(super) fn texts(&self, expression: &Expr) -> Vec<String> {
        let values = match expression {
            Expr::Name(name) => self.loops.get(name.id.as_str()).copied(),
            _ => None,
        };
        let items = match values.map(|values| self.value(values).unwrap_or(values)) {
            Some(Expr::List(list)) => &list.elts[..],
            Some(Expr::Tuple(tuple)) => &tuple.elts[..],
            Some(Expr::Set(set)) => &set.elts[..],
            _ => std::slice::from_ref(expression),
        };
        items.iter().take(STEPS_MAX).filter_map(|item| self.text(item)).collect()
    }

    /// The number an expression is, when it can be a port.
    pub(super) fn port(&self, expression: &Expr) -> Option<u16> {
        match self.value(expression).unwrap_or(expression) {
            Expr::NumberLiteral(literal) => match &literal.value {
                Number::Int(int) => int.as_i64().and_then(|number| u16::try_from(number).ok()),
                _ => None,
            },
            _ => None,
        }
    }

    fn write_text(&self, expression: &Expr, text: &mut String, budget: &mut Budget) -> Option<()> {
        budget.step()?;
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        match expression {
            Expr::StringLiteral(literal) => text.push_str(short(literal.value.to_str())?),
            Expr::FString(literal) => {
                for part in literal.value.iter() {
                    match part {
                        FStringPart::Literal(literal) => text.push_str(short(literal.as_str())?),
                        FStringPart::FString(inner) => {
                            for element in &inner.elements {
                                budget.step()?;
                                self.write_element(element, text, budget);
                            }
                        }
                    }
                }
            }
            Expr::BinOp(sum) if sum.op == Operator::Add => {
                let operands = operands(expression, STEPS_MAX)?;
                // A sum is text when one of its parts is; otherwise it may be of numbers.
                let has_text =
                    operands.iter().any(|part| matches!(part, Expr::StringLiteral(_) | Expr::FString(_)));
                has_text.then_some(())?;
                for operand in operands {
                    self.write_part(operand, text, budget);
                }
            }
            other => self.write_text(self.value(other)?, text, budget)?,
        }
        Some(())
    }

    fn write_element(&self, element: &InterpolatedStringElement, text: &mut String, budget: &mut Budget) {
        match element {
            InterpolatedStringElement::Literal(literal) => {
                text.push_str(short(&literal.value).unwrap_or(UNKNOWN))
            }
            InterpolatedStringElement::Interpolation(inner) => {
                self.write_part(&inner.expression, text, budget)
            }
        }
    }

    fn write_part(&self, expression: &Expr, text: &mut String, budget: &mut Budget) {
        let before = text.len();
        if self.write_text(expression, text, budget).is_none() {
            text.truncate(before);
            text.push_str(UNKNOWN);
        }
    }
}

/// The operands of a chain of `+`, from left to right; nothing when there are more than `most`.
pub(super) fn operands(expression: &Expr, most: usize) -> Option<Vec<&Expr>> {
    let mut operands = Vec::new();
    let mut at = expression;
    while let Expr::BinOp(sum) = at
        && sum.op == Operator::Add
    {
        if operands.len() == most {
            return None;
        }
        operands.push(&*sum.right);
        at = &sum.left;
    }
    operands.push(at);
    operands.reverse();
    Some(operands)
}

/// The text, unless it is too long to be copied wherever its name stands.
fn short(text: &str) -> Option<&str> {
    (text.len() <= TEXT_BYTES_MAX).then_some(text)
}

/// `self.x` or `cls.x`.
fn is_own(attribute: &ExprAttribute) -> bool {
    matches!(&*attribute.value, Expr::Name(name) if matches!(name.id.as_str(), "self" | "cls"))
}
