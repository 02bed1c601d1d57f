//! Looking for servers of models on this machine: all places at once, briefly, and only on the loopback address.

use super::Models;
use super::choice::first;
use super::list::Catalogue;
use crate::model::{Provider, ProviderName, probe};
use futures::future::join_all;

impl Models {
    /// Everybody who can be asked; this machine is searched first when nobody is known.
    pub(super) async fn present_providers(&self) -> Vec<Provider> {
        let providers = self.providers();
        let looked = self.state().looked;
        if looked || !self.shared.settings.discover || first(&providers).is_some() {
            return providers;
        }
        self.discover().await;
        self.providers()
    }

    /// Looks for servers on this machine and remembers them; those that are gone are forgotten.
    /// Also finds a login that another process completed.
    pub async fn discover(&self) {
        self.shared.account.look_again();
        let settings = &self.shared.settings;
        let probes: &[_] = if settings.discover { &settings.probes } else { &[] };
        let wire = self.shared.wire.within(settings.probe_wait);
        // Whoever says where Ollama is does not mean another one.
        let is_open =
            |provider: ProviderName| provider != ProviderName::Ollama || settings.ollama_host.is_none();
        let probes = probes.iter().filter(|one| is_open(one.provider));
        let found = join_all(probes.map(|one| probe(&wire, one.provider, one.port))).await;
        let logins = self.shared.account.logins();
        let mut state = self.state();
        state.looked = true;
        state.found.clear();
        for (provider, models) in found.into_iter().flatten() {
            state.catalogues.insert(provider.name(), Catalogue::now(models, logins));
            state.found.push(provider);
        }
    }
}
