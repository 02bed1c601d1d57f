//! Who is stored together with whom: changes of the same tenant and lane that wait at the same time.

use super::Store;
use crate::change::Waiting;
use roost_protocol::Tenant;
use std::collections::{HashMap, HashSet, VecDeque};
use tokio::{sync::mpsc, task::JoinSet};

/// Changes that share one transaction: enough to make it cheap, few enough that nobody waits long.
const BATCH_MAX: usize = 32;

type Key = (Tenant, String);

pub(super) struct Lanes {
    store: Store,
    /// Lanes that may be under way at once.
    busy_max: usize,
    waiting: HashMap<Key, Vec<Box<dyn Waiting>>>,
    /// Lanes that have changes and are not under way, in the order of their first one.
    ready: VecDeque<Key>,
    busy: HashSet<Key>,
    under_way: JoinSet<Key>,
}

impl Lanes {
    pub(super) fn new(store: Store, busy_max: usize) -> Self {
        Self {
            store,
            busy_max,
            waiting: HashMap::new(),
            ready: VecDeque::new(),
            busy: HashSet::new(),
            under_way: JoinSet::new(),
        }
    }

    /// Stores what comes until nobody can hand anything in any more, and everything is stored.
    pub(super) async fn work(mut self, mut incoming: mpsc::Receiver<Box<dyn Waiting>>) {
        let mut is_open = true;
        while is_open || !self.under_way.is_empty() {
            tokio::select! {
                change = incoming.recv(), if is_open => match change {
                    Some(change) => {
                        self.take(change);
                        // Whoever came at the same time goes along.
                        while let Ok(change) = incoming.try_recv() {
                            self.take(change);
                        }
                    }
                    None => is_open = false,
                },
                Some(done) = self.under_way.join_next(), if !self.under_way.is_empty() => self.done(done),
            }
            self.start();
        }
    }

    fn take(&mut self, change: Box<dyn Waiting>) {
        let key = (change.tenant().clone(), change.lane().to_owned());
        let waiting = self.waiting.entry(key.clone()).or_default();
        waiting.push(change);
        if waiting.len() == 1 && !self.busy.contains(&key) {
            self.ready.push_back(key);
        }
    }

    fn done(&mut self, done: Result<Key, tokio::task::JoinError>) {
        // A change that panics is caught inside its task, so a task always says which lane it was.
        let Ok(key) = done else { return };
        self.busy.remove(&key);
        if self.waiting.contains_key(&key) {
            self.ready.push_back(key);
        }
    }

    fn start(&mut self) {
        while self.busy.len() < self.busy_max
            && let Some(key) = self.ready.pop_front()
        {
            let Some(mut batch) = self.waiting.remove(&key) else { continue };
            if batch.len() > BATCH_MAX {
                let later = batch.split_off(BATCH_MAX);
                self.waiting.insert(key.clone(), later);
            }
            self.busy.insert(key.clone());
            let store = self.store.clone();
            self.under_way.spawn(async move {
                store.store(batch).await;
                key
            });
        }
    }
}
