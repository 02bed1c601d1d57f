//! Providers of accounts: where a person signs in and where tokens come from.

use roost_protocol::{Failure, Reason, VariableName};

/// A provider that this host is known to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OauthProvider {
    pub(super) authorize_url: String,
    pub(super) token_url: String,
    pub(super) client_id: String,
    /// The secret of the vault that proves the host to the provider; none for clients that have none.
    pub(super) client_secret: Option<VariableName>,
}

/// What is written about a provider.
#[derive(Debug, Clone, Default)]
pub struct WrittenProvider {
    /// Where a person signs in; known for google, microsoft and github.
    pub authorize_url: Option<String>,
    /// Where tokens come from; known for the same.
    pub token_url: Option<String>,
    /// What the provider calls this host.
    pub client_id: String,
    /// The name of a secret of the vault.
    pub client_secret: Option<String>,
    /// Whose people may sign in, at microsoft.
    pub tenant: Option<String>,
}

impl OauthProvider {
    /// A provider of this name as it is written, completed where it is one that everybody knows.
    pub fn read(name: &str, written: WrittenProvider) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::new(Reason::InvalidSettings, format!("[oauth.{name}]: {what}"));
        let tenant = written.tenant.as_deref().unwrap_or("common");
        let is_tenant = !tenant.is_empty()
            && tenant.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte));
        if !is_tenant {
            return Err(wrong("`tenant` is a name or an id"));
        }
        let known = known(name, tenant);
        let (known_authorize, known_token) = known.unzip();
        let authorize_url = written.authorize_url.or(known_authorize);
        let token_url = written.token_url.or(known_token);
        let (Some(authorize_url), Some(token_url)) = (authorize_url, token_url) else {
            return Err(wrong("needs `authorize_url` and `token_url`"));
        };
        if !is_safe(&authorize_url) || !is_safe(&token_url) {
            return Err(wrong("addresses are https, or http on this machine"));
        }
        if written.client_id.is_empty() {
            return Err(wrong("needs `client_id`"));
        }
        let client_secret = written.client_secret.map(|name| VariableName::parse(&name)).transpose();
        let client_secret = client_secret.map_err(|_| wrong("`client_secret` is the name of a secret"))?;
        Ok(Self { authorize_url, token_url, client_id: written.client_id, client_secret })
    }
}

fn known(name: &str, tenant: &str) -> Option<(String, String)> {
    let (authorize, token) = match name {
        "google" => (
            "https://accounts.google.com/o/oauth2/v2/auth".to_owned(),
            "https://oauth2.googleapis.com/token".to_owned(),
        ),
        "microsoft" => {
            let top = format!("https://login.microsoftonline.com/{tenant}/oauth2/v2.0");
            (format!("{top}/authorize"), format!("{top}/token"))
        }
        "github" => (
            "https://github.com/login/oauth/authorize".to_owned(),
            "https://github.com/login/oauth/access_token".to_owned(),
        ),
        _ => return None,
    };
    Some((authorize, token))
}

/// True for an address that nobody on the way can read, and that holds nothing but an address.
fn is_safe(url: &str) -> bool {
    let is_plain = !url.chars().any(|character| character.is_whitespace() || character.is_control());
    let is_here = ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|here| {
        url.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    });
    let is_far = url.strip_prefix("https://").is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'));
    is_plain && !url.contains(['#', '@']) && (is_here || is_far)
}

#[cfg(test)]
mod tests {
    use super::{OauthProvider, WrittenProvider};

    fn written(authorize: Option<&str>, tenant: Option<&str>) -> WrittenProvider {
        WrittenProvider {
            authorize_url: authorize.map(str::to_owned),
            token_url: authorize.map(str::to_owned),
            client_id: "me".to_owned(),
            tenant: tenant.map(str::to_owned),
            client_secret: None,
        }
    }

    #[test]
    fn known_providers_need_no_addresses_and_none_is_asked_in_the_open() {
        let microsoft = OauthProvider::read("microsoft", written(None, Some("contoso.com"))).unwrap();
        assert!(microsoft.token_url.contains("/contoso.com/"));
        assert!(OauthProvider::read("microsoft", written(None, Some("a/../b"))).is_err());
        assert!(OauthProvider::read("other", written(None, None)).is_err());
        assert!(OauthProvider::read("other", written(Some("http://127.0.0.1:4000/x"), None)).is_ok());
        for url in
            ["http://example.com/x", "http://127.0.0.1.example.com/", "https://", "https://a@b/", "ftp://x/"]
        {
            assert!(OauthProvider::read("other", written(Some(url), None)).is_err(), "{url}");
        }
        let nameless = WrittenProvider { client_id: String::new(), ..written(None, None) };
        assert!(OauthProvider::read("google", nameless).is_err());
    }
}
