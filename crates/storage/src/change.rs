//! Work that is done inside a transaction, and how several are done inside one.

use crate::{error::StorageError, transaction::Transaction};
use futures::{FutureExt as _, future::BoxFuture};
use roost_protocol::Tenant;
use std::{any::Any, future::Future, panic::AssertUnwindSafe};
use tokio::sync::oneshot;

/// Something to do with the rows of one tenant, all or nothing.
///
/// It may be done more than once before it counts: when another change in the same transaction broke it, or when two
/// nodes met. So it must only read and write through the transaction. An error takes back everything it wrote.
/// It waits for nothing but the transaction.
pub trait Change: Send + Sync + 'static {
    /// What it gives.
    type Output: Send + 'static;
    /// How it can fail.
    type Error: From<StorageError> + Send + 'static;

    /// Changes that can wait for each other share a lane and are done in turn; others are done side by side.
    fn lane(&self) -> &str {
        ""
    }

    /// Does it.
    fn apply<'a>(
        &'a self,
        transaction: &'a mut Transaction,
    ) -> impl Future<Output = Result<Self::Output, Self::Error>> + Send + 'a;

    /// Does at once those of several that wait together which need no decision, and says what they gave. The others are
    /// done one by one after it. Only a server that is a way off asks for this; by default there are none such.
    fn apply_together<'a>(
        changes: &'a [&'a Self],
        _transaction: &'a mut Transaction,
    ) -> impl Future<Output = Result<Vec<Option<Self::Output>>, StorageError>> + Send + 'a {
        async { Ok(changes.iter().map(|_| None).collect()) }
    }
}

/// How a change within a batch ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It is to be kept.
    Well,
    /// It is to be taken back.
    Badly,
}

/// A change that waits for its turn, whatever it gives.
pub(crate) trait Waiting: Send {
    fn tenant(&self) -> &Tenant;
    fn lane(&self) -> &str;
    /// Does it once; the last time counts.
    fn run<'a>(&'a mut self, transaction: &'a mut Transaction) -> BoxFuture<'a, Ended>;
    /// Does what can be done at once of itself and the others of its kind, which then have their results.
    fn run_together<'a>(
        &'a mut self,
        others: &'a mut [Box<dyn Waiting>],
        transaction: &'a mut Transaction,
    ) -> BoxFuture<'a, Result<(), StorageError>>;
    /// Forgets a result that did not count.
    fn begin_again(&mut self);
    /// Whether it has a result.
    fn is_done(&self) -> bool;
    /// As what it is, to find others of its kind.
    fn as_any(&mut self) -> &mut dyn Any;
    /// Tells whoever waits how it went. `stored` is what became of the transaction.
    fn finish(self: Box<Self>, stored: Result<(), StorageError>);
}

struct Queued<C: Change> {
    tenant: Tenant,
    change: C,
    result: Option<Result<C::Output, C::Error>>,
    answer: oneshot::Sender<Result<C::Output, C::Error>>,
}

impl<C: Change> Waiting for Queued<C> {
    fn tenant(&self) -> &Tenant {
        &self.tenant
    }

    fn lane(&self) -> &str {
        self.change.lane()
    }

    fn run<'a>(&'a mut self, transaction: &'a mut Transaction) -> BoxFuture<'a, Ended> {
        Box::pin(async move {
            let applied = AssertUnwindSafe(self.change.apply(transaction)).catch_unwind().await;
            let result = applied.unwrap_or_else(|_| Err(StorageError::Panicked.into()));
            let ended = if result.is_ok() { Ended::Well } else { Ended::Badly };
            self.result = Some(result);
            ended
        })
    }

    fn run_together<'a>(
        &'a mut self,
        others: &'a mut [Box<dyn Waiting>],
        transaction: &'a mut Transaction,
    ) -> BoxFuture<'a, Result<(), StorageError>> {
        Box::pin(async move {
            let others = others.iter_mut().filter_map(|other| other.as_any().downcast_mut::<Self>());
            let mut alike: Vec<&mut Self> = std::iter::once(self).chain(others).collect();
            let changes: Vec<&C> = alike.iter().map(|queued| &queued.change).collect();
            let applied = AssertUnwindSafe(C::apply_together(&changes, transaction)).catch_unwind().await;
            let outputs = applied.unwrap_or(Err(StorageError::Panicked))?;
            for (queued, output) in alike.iter_mut().zip(outputs) {
                queued.result = output.map(Ok);
            }
            Ok(())
        })
    }

    fn begin_again(&mut self) {
        self.result = None;
    }

    fn is_done(&self) -> bool {
        self.result.is_some()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }

    fn finish(self: Box<Self>, stored: Result<(), StorageError>) {
        let result = match (self.result, stored) {
            // What it refused by itself stays true whatever became of the others.
            (Some(Err(error)), _) => Err(error),
            (Some(result), Ok(())) => result,
            (_, Err(error)) => Err(error.into()),
            (None, Ok(())) => Err(StorageError::Panicked.into()),
        };
        // Whoever asked may have left; the change is made all the same.
        self.answer.send(result).ok();
    }
}

/// Where the result of a change will be.
pub(crate) type Coming<C> = oneshot::Receiver<Result<<C as Change>::Output, <C as Change>::Error>>;

/// A change on its way, and where its result will be.
pub(crate) fn queued<C: Change>(tenant: Tenant, change: C) -> (Box<dyn Waiting>, Coming<C>) {
    let (answer, result) = oneshot::channel();
    (Box::new(Queued { tenant, change, result: None, answer }), result)
}
