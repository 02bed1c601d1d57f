//! What a home believes, as it is kept on disk. A file that is not understood whole is not believed in part.

use super::{
    lists::{Edition, KeyList, Revocations},
    public_key::{PublicKey, moment, text},
    strict_json,
    trust::{Fetched, TrustList, TrustedPublisher, TrustedStore},
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// The form of the file; another one is another program's.
const FORMAT: u64 = 1;

impl TrustList {
    /// Reads the file.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let json = strict_json::object(bytes)?;
        if json.get("format").and_then(Value::as_u64) != Some(FORMAT) {
            return Err("it is of another form".to_owned());
        }
        Ok(Self {
            publishers: entries(&json, "publishers")?
                .map(|entry| publisher(entry?))
                .collect::<Result<_, _>>()?,
            stores: entries(&json, "stores")?.map(|entry| store(entry?)).collect::<Result<_, _>>()?,
            latest: moment(&json, "latest")?,
        })
    }

    /// The content of the file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let publishers = self.publishers.iter().map(|known| json!({"name": known.name, "key": known.key}));
        let stores = self.stores.iter().map(|store| {
            json!({
                "url": store.url,
                "keys": store.keys.as_ref().map(|fetched| {
                    with_edition(json!({"keys": fetched.list.keys}), fetched.list.edition, fetched.at)
                }),
                "revocations": store.revocations.as_ref().map(|fetched| {
                    let apps = fetched.list.apps.iter().map(|(id, at)| json!({"id": id, "revoked_at": at}));
                    let list = json!({"revocations": apps.collect::<Vec<_>>()});
                    with_edition(list, fetched.list.edition, fetched.at)
                }),
            })
        });
        let json = json!({
            "format": FORMAT,
            "latest": self.latest,
            "publishers": publishers.collect::<Vec<_>>(),
            "stores": stores.collect::<Vec<_>>(),
        });
        format!("{json:#}\n").into_bytes()
    }
}

fn with_edition(mut list: Value, edition: Edition, fetched_at: Timestamp) -> Value {
    list["serial"] = json!(edition.serial);
    list["issuedAt"] = json!(edition.issued_at);
    list["fetchedAt"] = json!(fetched_at);
    list
}

type Object = Map<String, Value>;

fn entries<'a>(
    json: &'a Object,
    key: &str,
) -> Result<impl Iterator<Item = Result<&'a Object, String>>, String> {
    let list = json.get(key).and_then(Value::as_array).ok_or_else(|| format!("`{key}` is not a list"))?;
    Ok(list.iter().map(|entry| entry.as_object().ok_or_else(|| "an entry is not an object".to_owned())))
}

fn publisher(json: &Object) -> Result<TrustedPublisher, String> {
    let name = text(json, "name")?.ok_or("a publisher has no name")?.to_owned();
    let key = json.get("key").and_then(Value::as_object).ok_or("a publisher has no key")?;
    Ok(TrustedPublisher { name, key: PublicKey::read(key)? })
}

fn store(json: &Object) -> Result<TrustedStore, String> {
    let url = text(json, "url")?.ok_or("a store has no address")?.to_owned();
    Ok(TrustedStore {
        url,
        keys: fetched(json, "keys", KeyList::read)?,
        revocations: fetched(json, "revocations", Revocations::read)?,
    })
}

fn fetched<T>(
    json: &Object,
    key: &str,
    read: fn(&Object) -> Result<T, String>,
) -> Result<Option<Fetched<T>>, String> {
    match json.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(list)) => {
            let at = moment(list, "fetchedAt")?.ok_or("a list does not say when it came")?;
            Ok(Some(Fetched { list: read(list)?, at }))
        }
        Some(_) => Err(format!("`{key}` is not an object")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{KeyList, Revocations, SigningKey, TrustList, TrustedPublisher, TrustedStore};
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_back_whole_or_not_at_all() {
        let public = SigningKey::from_bytes(&[3; 32]).verifying_key();
        let key = json!({"algorithm": "ed25519", "keyId": "k", "publicKey": STANDARD.encode(public.as_bytes()),
            "covers": "tree", "notAfter": "2027-01-01T00:00:00Z"});
        let keys = json!({"serial": 3, "issuedAt": "2026-01-01T00:00:00Z", "keys": [key]}).to_string();
        let list = KeyList::parse(keys.as_bytes()).unwrap();
        let mut trust = TrustList {
            publishers: vec![TrustedPublisher { name: "ada".to_owned(), key: list.keys[0].clone() }],
            stores: vec![TrustedStore { url: "https://s".to_owned(), keys: None, revocations: None }],
            latest: None,
        };
        assert_eq!(TrustList::parse(&trust.to_bytes()).unwrap(), trust);
        let now = "2026-06-01T00:00:00Z".parse().unwrap();
        trust.take_keys("https://s", list, now).unwrap();
        let revoked = Revocations::parse(br#"{"revoked": ["a", "b"]}"#).unwrap();
        trust.take_revocations("https://s", revoked, now).unwrap();
        let bytes = trust.to_bytes();
        assert_eq!(TrustList::parse(&bytes).unwrap(), trust);
        for at in (0..bytes.len()).step_by(7) {
            assert!(TrustList::parse(&bytes[..at]).is_err());
        }
    }
}
