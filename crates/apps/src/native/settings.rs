//! What an app says can be set: names, kinds and what a value must be. A schema for people and for the host, which
//! checks every value against it.

use super::{
    code::{NativeCode, NativeError},
    manifest::PATH,
    names::is_one_line,
};
use serde::Serialize;
use serde_json::{Map, Value};

/// Most settings of one app, and most options of one setting.
const SETTINGS_MAX: usize = 64;
const OPTIONS_MAX: usize = 64;
/// Longest key, longest line that is shown, longest description, and longest value.
const KEY_CHARACTERS_MAX: usize = 64;
const LINE_CHARACTERS_MAX: usize = 200;
const DESCRIPTION_CHARACTERS_MAX: usize = 2000;
/// Longest value of a setting: a key or a certificate.
pub const SETTING_BYTES_MAX: usize = 8 << 10;

/// One thing that can be set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingField {
    /// Its name on the wire.
    pub key: String,
    /// What people call it.
    pub title: String,
    /// What a value must be.
    #[serde(rename = "type")]
    pub kind: SettingKind,
    /// Whether the app needs it.
    pub required: bool,
    /// What holds when nobody set it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// An example.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub placeholder: String,
    /// The values there are, where one of them is chosen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<SettingOption>,
    /// What it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Whether nobody may see the value again.
    pub secret: bool,
}

/// What a value must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SettingKind {
    /// Any text.
    Text,
    /// Any text that is a secret.
    Password,
    /// `true` or `false`.
    Toggle,
    /// One of the options.
    Select,
    /// A number.
    Number,
    /// An address of the web.
    Url,
}

/// One value to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SettingOption {
    /// What people see.
    pub label: String,
    /// What is set.
    pub value: String,
}

impl SettingField {
    /// A setting of an app that does not say what can be set.
    #[must_use]
    pub fn free(key: &str) -> Self {
        Self {
            key: key.to_owned(),
            title: key.to_owned(),
            kind: SettingKind::Text,
            required: false,
            default: None,
            placeholder: String::new(),
            options: Vec::new(),
            description: String::new(),
            secret: false,
        }
    }

    /// Why this cannot be the value.
    pub fn check(&self, value: &str) -> Result<(), String> {
        if value.len() > SETTING_BYTES_MAX || value.contains('\0') {
            return Err(format!("`{}` is longer than {SETTING_BYTES_MAX} bytes, or has a NUL", self.key));
        }
        if value.is_empty() {
            return if self.required { Err(format!("`{}` must not be empty", self.key)) } else { Ok(()) };
        }
        let wrong = |what: &str| Err(format!("`{}` must be {what}", self.key));
        match self.kind {
            SettingKind::Text | SettingKind::Password => Ok(()),
            SettingKind::Toggle if matches!(value, "true" | "false") => Ok(()),
            SettingKind::Toggle => wrong("`true` or `false`"),
            SettingKind::Select if self.options.iter().any(|option| option.value == value) => Ok(()),
            SettingKind::Select => {
                let options: Vec<&str> = self.options.iter().map(|option| option.value.as_str()).collect();
                wrong(&format!("one of {}", options.join(", ")))
            }
            SettingKind::Number if value.parse::<f64>().is_ok_and(f64::is_finite) => Ok(()),
            SettingKind::Number => wrong("a number"),
            SettingKind::Url if is_web_address(value) => Ok(()),
            SettingKind::Url => wrong("an address that begins with https:// or http://"),
        }
    }
}

/// True for a name that a setting can have. None has a colon, by which the host marks what it adds itself.
#[must_use]
pub fn is_setting_key(key: &str) -> bool {
    (1..=KEY_CHARACTERS_MAX).contains(&key.len())
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// Reads the list of a manifest.
pub(super) fn read(json: &Map<String, Value>, errors: &mut Vec<NativeError>) -> Vec<SettingField> {
    let mut wrong = |message: String| errors.push(NativeError::at(NativeCode::Settings, PATH, message));
    let list = match json.get("settings") {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(list)) if list.len() <= SETTINGS_MAX => list,
        Some(_) => {
            wrong(format!("`settings` is not a list of at most {SETTINGS_MAX}"));
            return Vec::new();
        }
    };
    let mut fields: Vec<SettingField> = Vec::new();
    for (place, entry) in list.iter().enumerate() {
        match field(entry) {
            Ok(field) if fields.iter().any(|known| known.key == field.key) => {
                wrong(format!("two settings have the key `{}`", field.key));
            }
            Ok(field) => fields.push(field),
            Err(why) => wrong(format!("setting {}: {why}", place + 1)),
        }
    }
    fields
}

fn field(entry: &Value) -> Result<SettingField, String> {
    let entry = entry.as_object().ok_or("is not an object")?;
    let key = line(entry, "key")?;
    if !is_setting_key(&key) {
        return Err("`key` must be 1 to 64 letters, digits, `_`, `-` or `.`".to_owned());
    }
    let title = Some(line(entry, "title")?).filter(|title| !title.is_empty()).unwrap_or_else(|| key.clone());
    let kind = match line(entry, "type")?.as_str() {
        "" | "text" => SettingKind::Text,
        "password" => SettingKind::Password,
        "toggle" => SettingKind::Toggle,
        "select" => SettingKind::Select,
        "number" => SettingKind::Number,
        "url" => SettingKind::Url,
        _ => return Err("`type` must be text, password, toggle, select, number or url".to_owned()),
    };
    let description = text(entry, "description")?.chars().take(DESCRIPTION_CHARACTERS_MAX).collect();
    let field = SettingField {
        key,
        title,
        kind,
        required: flag(entry, "required")?,
        default: default(entry)?,
        placeholder: line(entry, "placeholder")?,
        options: options(entry)?,
        description,
        secret: flag(entry, "secret")? || kind == SettingKind::Password,
    };
    if (kind == SettingKind::Select) == field.options.is_empty() {
        return Err("`options` belong to `select`, which needs some".to_owned());
    }
    if let Some(default) = field.default.as_ref().filter(|default| !default.is_empty()) {
        field.check(default).map_err(|why| format!("`default`: {why}"))?;
    }
    Ok(field)
}

fn text(entry: &Map<String, Value>, key: &str) -> Result<String, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(String::new()),
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(format!("`{key}` is not a text")),
    }
}

fn line(entry: &Map<String, Value>, key: &str) -> Result<String, String> {
    let text = text(entry, key)?;
    if text.is_empty() || is_one_line(&text, LINE_CHARACTERS_MAX) {
        return Ok(text);
    }
    Err(format!("`{key}` cannot be shown in one line"))
}

fn flag(entry: &Map<String, Value>, key: &str) -> Result<bool, String> {
    match entry.get(key) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{key}` is neither true nor false")),
    }
}

/// Authors write the default of a number as a number.
fn default(entry: &Map<String, Value>) -> Result<Option<String>, String> {
    match entry.get("default") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(value @ (Value::Bool(_) | Value::Number(_))) => Ok(Some(value.to_string())),
        Some(_) => Err("`default` is not a value".to_owned()),
    }
}

fn options(entry: &Map<String, Value>) -> Result<Vec<SettingOption>, String> {
    let list = match entry.get("options") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) if list.len() <= OPTIONS_MAX => list,
        Some(_) => return Err(format!("`options` is not a list of at most {OPTIONS_MAX}")),
    };
    let option = |one: &Value| {
        let one = one.as_object().ok_or("an option is not an object")?;
        let value = line(one, "value")?;
        let label = Some(line(one, "label")?).filter(|label| !label.is_empty());
        Ok(SettingOption { label: label.unwrap_or_else(|| value.clone()), value })
    };
    list.iter().map(option).collect()
}

fn is_web_address(text: &str) -> bool {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && !text.chars().any(|character| character.is_whitespace() || character.is_control())
}

#[cfg(test)]
mod tests {
    use super::{SettingKind, read};
    use serde_json::{Value, json};

    fn settings(list: &Value) -> Result<Vec<super::SettingField>, Vec<String>> {
        let mut errors = Vec::new();
        let manifest = json!({ "settings": list });
        let read = read(manifest.as_object().unwrap(), &mut errors);
        if errors.is_empty() {
            Ok(read)
        } else {
            Err(errors.into_iter().map(|error| error.message).collect())
        }
    }

    #[test]
    fn a_schema_says_what_a_value_must_be() {
        let list = json!([
            { "key": "name", "title": "Name", "required": true },
            { "key": "secret", "type": "password" },
            { "key": "on", "type": "toggle", "default": false },
            { "key": "tone", "type": "select", "options": [{ "label": "Dry", "value": "dry" }], "default": "dry" },
            { "key": "count", "type": "number", "default": 3 },
            { "key": "site", "type": "url" },
        ]);
        let fields = settings(&list).unwrap();
        let check = |key: &str, value: &str| {
            fields.iter().find(|field| field.key == key).unwrap().check(value).is_ok()
        };
        assert!(fields[1].secret && fields[1].kind == SettingKind::Password && fields[0].title == "Name");
        assert_eq!(fields[4].default.as_deref(), Some("3"));
        assert!(check("name", "x") && !check("name", "") && !check("name", &"x".repeat(9000)));
        assert!(check("on", "true") && !check("on", "yes") && check("on", ""));
        assert!(check("tone", "dry") && !check("tone", "wet"));
        assert!(check("count", "-1.5") && !check("count", "NaN") && !check("count", "three"));
        assert!(check("site", "https://example.com/x") && !check("site", "javascript:alert(1)"));
        assert!(!check("site", "https:///x") && !check("site", "http://a b"));
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        for list in [
            json!({}),
            json!(["name"]),
            json!([{}]),
            json!([{ "key": "oauth:google:access_token" }]),
            json!([{ "key": "a b" }]),
            json!([{ "key": "a", "type": "colour" }]),
            json!([{ "key": "a", "required": "yes" }]),
            json!([{ "key": "a", "type": "select" }]),
            json!([{ "key": "a", "options": [{ "value": "x" }] }]),
            json!([{ "key": "a", "type": "select", "options": ["x"] }]),
            json!([{ "key": "a", "type": "number", "default": "many" }]),
            json!([{ "key": "a", "title": "two\nlines" }]),
            json!([{ "key": "a" }, { "key": "a" }]),
        ] {
            assert!(settings(&list).is_err(), "{list}");
        }
        assert_eq!(settings(&Value::Null).unwrap(), []);
    }
}
