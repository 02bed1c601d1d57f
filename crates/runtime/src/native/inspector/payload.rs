//! A message as JSON, in the form protobuf has for it: names in camel case, bytes in base64. Secrets are taken out of every
//! value before it becomes part of a text, and long values are cut.

use super::Direction;
use crate::log::Clear;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use prost_reflect::{DescriptorPool, DynamicMessage, MapKey, MessageDescriptor, Value as Field};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// Longest text that is shown whole.
const TEXT_BYTES_MAX: usize = 4 << 10;

/// Shown in place of a value that nobody needs to see.
const HIDDEN: &str = "[hidden]";

/// Maps whose values may all be secrets: settings, and what connects an app to a service elsewhere.
const HIDDEN_MAPS: [&str; 3] = [
    "apps.v0.SettingsMap.values",
    "apps.v0.CommConnectRequest.config",
    "apps.v0.ChannelConnectRequest.config",
];

/// Values that always are.
const HIDDEN_FIELDS: [&str; 1] = ["apps.v0.UserContext.token"];

/// Headers that let somebody in.
const HIDDEN_KEYS: [&str; 4] = ["authorization", "cookie", "set-cookie", "proxy-authorization"];

static CONTRACT: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(include_bytes!(concat!(env!("OUT_DIR"), "/apps.v0.bin")).as_slice())
        .expect("the description of the contract was made when this was built")
});

/// A message of a call, or a sentence why it cannot be shown.
pub(super) fn shown(method: &str, direction: Direction, message: &[u8], clear: &Clear) -> Value {
    let unreadable =
        || Value::String(format!("[{} bytes that are no message of the contract]", message.len()));
    let Some(descriptor) = descriptor(method, direction) else { return unreadable() };
    match DynamicMessage::decode(descriptor, message) {
        Ok(message) => object(&message, clear),
        Err(_) => unreadable(),
    }
}

fn descriptor(method: &str, direction: Direction) -> Option<MessageDescriptor> {
    let (service, call) = method.strip_prefix('/')?.split_once('/')?;
    let service = CONTRACT.get_service_by_name(service)?;
    let call = service.methods().find(|one| one.name() == call)?;
    Some(match direction {
        Direction::Request => call.input(),
        Direction::Response => call.output(),
    })
}

fn object(message: &DynamicMessage, clear: &Clear) -> Value {
    let fields = message.fields().map(|(field, value)| {
        let is_hidden = HIDDEN_FIELDS.contains(&field.full_name());
        let value = match value {
            Field::Map(entries) if HIDDEN_MAPS.contains(&field.full_name()) => {
                entries.keys().map(|key| (name(key, clear), json!(HIDDEN))).collect::<Map<_, _>>().into()
            }
            _ if is_hidden => json!(HIDDEN),
            value => shown_value(value, clear),
        };
        (field.json_name().to_owned(), value)
    });
    Value::Object(fields.collect())
}

fn shown_value(value: &Field, clear: &Clear) -> Value {
    match value {
        Field::Bool(value) => json!(value),
        Field::I32(value) | Field::EnumNumber(value) => json!(value),
        Field::U32(value) => json!(value),
        // As JSON has no such numbers, protobuf writes them as texts.
        Field::I64(value) => json!(value.to_string()),
        Field::U64(value) => json!(value.to_string()),
        Field::F32(value) => json!(value),
        Field::F64(value) => json!(value),
        Field::String(text) => json!(cleared_text(text, clear)),
        Field::Bytes(bytes) => json!(STANDARD.encode(cut(&cleared(bytes, clear)))),
        Field::Message(message) => object(message, clear),
        Field::List(values) => values.iter().map(|value| shown_value(value, clear)).collect(),
        Field::Map(entries) => {
            let shown = entries.iter().map(|(key, value)| {
                let key = name(key, clear);
                let is_hidden = HIDDEN_KEYS.contains(&key.to_lowercase().as_str());
                let value = if is_hidden { json!(HIDDEN) } else { shown_value(value, clear) };
                (key, value)
            });
            Value::Object(shown.collect())
        }
    }
}

fn name(key: &MapKey, clear: &Clear) -> String {
    match key {
        MapKey::String(text) => cleared_text(text, clear),
        MapKey::Bool(value) => value.to_string(),
        MapKey::I32(value) => value.to_string(),
        MapKey::I64(value) => value.to_string(),
        MapKey::U32(value) => value.to_string(),
        MapKey::U64(value) => value.to_string(),
    }
}

fn cleared_text(text: &str, clear: &Clear) -> String {
    let cleared = String::from_utf8_lossy(&cleared(text.as_bytes(), clear)).into_owned();
    if cleared.len() <= TEXT_BYTES_MAX {
        return cleared;
    }
    let end = cleared.floor_char_boundary(TEXT_BYTES_MAX);
    format!("{}… [cut off: {} bytes]", &cleared[..end], cleared.len())
}

fn cleared(bytes: &[u8], clear: &Clear) -> Vec<u8> {
    clear(bytes).unwrap_or_else(|| bytes.to_vec())
}

fn cut(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.len().min(TEXT_BYTES_MAX)]
}

#[cfg(test)]
mod tests {
    use super::shown;
    use crate::{
        log::Clear,
        native::{
            contract::{ExecuteRequest, GatewayRequest, HttpRequest, SettingsMap, UserContext},
            inspector::Direction,
        },
    };
    use prost::Message as _;
    use serde_json::json;
    use std::sync::Arc;

    fn clear() -> Clear {
        Arc::new(|bytes| Some(String::from_utf8_lossy(bytes).replace("tea-secret", "*").into_bytes()))
    }

    fn request(method: &str, message: &[u8]) -> serde_json::Value {
        shown(method, Direction::Request, message, &clear())
    }

    #[test]
    fn a_message_is_shown_by_its_names_and_without_its_secrets() {
        let execute = ExecuteRequest { input: b"{\"key\":\"tea-secret\"}".to_vec() };
        let shown = request("/apps.v0.ToolService/Execute", &execute.encode_to_vec());
        // {"key":"*"}
        assert_eq!(shown, json!({ "input": "eyJrZXkiOiIqIn0=" }));
        let settings = SettingsMap { values: [("token".to_owned(), "new".to_owned())].into() };
        let shown = request("/apps.v0.ToolService/Configure", &settings.encode_to_vec());
        assert_eq!(shown, json!({ "values": { "token": "[hidden]" } }));
        let user = UserContext { token: "new".to_owned(), user_id: "me".to_owned(), plan: String::new() };
        let asked = GatewayRequest { user: Some(user), max_tokens: 7, ..GatewayRequest::default() };
        let shown = request("/apps.v0.GatewayService/Stream", &asked.encode_to_vec());
        assert_eq!(shown, json!({ "maxTokens": 7, "user": { "token": "[hidden]", "userId": "me" } }));
        let page = HttpRequest {
            headers: [
                ("Cookie".to_owned(), "a=b".to_owned()),
                ("accept".to_owned(), "tea-secret".to_owned()),
            ]
            .into(),
            ..HttpRequest::default()
        };
        let shown = request("/apps.v0.UIService/HandleRequest", &page.encode_to_vec());
        assert_eq!(shown, json!({ "headers": { "Cookie": "[hidden]", "accept": "*" } }));
    }

    #[test]
    fn what_is_no_message_is_only_counted() {
        assert_eq!(
            request("/apps.v0.ToolService/Execute", &[0xff]),
            "[1 bytes that are no message of the contract]"
        );
        assert_eq!(request("/other/Call", b"tea-secret"), "[10 bytes that are no message of the contract]");
    }

    #[test]
    fn long_values_are_cut() {
        let asked = GatewayRequest { system: "x".repeat(10_000), ..GatewayRequest::default() };
        let shown = request("/apps.v0.GatewayService/Stream", &asked.encode_to_vec());
        assert!(shown["system"].as_str().unwrap().ends_with("[cut off: 10000 bytes]"), "{shown}");
    }
}
