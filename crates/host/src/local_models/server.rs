//! The process that answers for local models: started when it is first asked, one model at a time, ended when idle.

use super::LocalModels;
use roost_chat::{Endpoint, ModelFailure, ModelProblem, Secret, StartLocal};
use roost_protocol::{Failure, Reason};
use roost_runtime::{LOCAL_MODEL_PROGRAM, LocalModel, Surface, find_program};
use std::{
    path::PathBuf,
    sync::{
        Arc, Weak,
        atomic::{AtomicU8, Ordering},
    },
    time::{Duration, Instant},
};
use tokio::sync::Mutex;

/// A model holds gigabytes; after so long without a question it makes room.
const IDLE_AFTER: Duration = Duration::from_secs(600);

/// How often idleness is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// The local model that runs, if one does. Clones are handles of the same one.
#[derive(Clone)]
pub(crate) struct LocalServer {
    shared: Arc<Shared>,
}

struct Shared {
    models: LocalModels,
    /// Where the program is looked for.
    folders: Vec<PathBuf>,
    log: PathBuf,
    running: Mutex<Option<Running>>,
}

struct Running {
    name: String,
    model: LocalModel,
    last_asked: Instant,
}

impl LocalServer {
    pub(crate) fn new(models: LocalModels, surface: &Surface, log: PathBuf) -> Self {
        // Beside the host's own program first: that is where it is built and installed.
        let own = std::env::current_exe().ok().and_then(|program| program.parent().map(PathBuf::from));
        let folders = own.into_iter().chain(surface.search_path.iter().cloned()).collect();
        Self { shared: Arc::new(Shared { models, folders, log, running: Mutex::new(None) }) }
    }

    /// The models of this home, as those who ask see them.
    pub(crate) fn into_start(self) -> StartLocal {
        let lister = self.clone();
        StartLocal {
            names: Arc::new(move || lister.shared.models.list().into_iter().map(|file| file.name).collect()),
            endpoint: Arc::new(move |name: String| {
                let server = self.clone();
                Box::pin(async move { server.endpoint(&name).await })
            }),
        }
    }

    /// Where the model answers; started now if it does not run.
    async fn endpoint(&self, name: &str) -> Result<Endpoint, ModelFailure> {
        self.started(name).await.map_err(|failure| ModelFailure {
            problem: ModelProblem::Local { reason: failure.reason },
            message: failure.message,
            model: name.to_owned(),
            detail: failure.reason.sentence().to_owned(),
        })
    }

    async fn started(&self, name: &str) -> Result<Endpoint, Failure> {
        // Held while a model loads: two at once would need twice the memory.
        let mut running = self.shared.running.lock().await;
        if let Some(current) = &mut *running
            && current.name == name
            && current.model.is_running()
        {
            current.last_asked = Instant::now();
            return Ok(endpoint(&current.model));
        }
        // The other model's memory is needed.
        *running = None;
        let file = self.shared.models.find(name)?;
        let Some(program) = find_program(LOCAL_MODEL_PROGRAM, &self.shared.folders) else {
            return Err(Failure::plain(Reason::LocalModelMissing));
        };
        let told = AtomicU8::new(0);
        let on_progress = |part: f32| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a part of a hundred"
            )]
            let quarter = (part.clamp(0.0, 1.0) * 4.0) as u8;
            // A line at every quarter: a gigabyte from a slow disk takes a while.
            if told.fetch_max(quarter, Ordering::Relaxed) < quarter {
                tracing::info!(model = name, percent = quarter * 25, "loading a local model");
            }
        };
        tracing::info!(model = name, percent = 0, "loading a local model");
        let model = LocalModel::start(&program, &file.path, &self.shared.log, &on_progress).await?;
        let endpoint = endpoint(&model);
        *running = Some(Running { name: name.to_owned(), model, last_asked: Instant::now() });
        drop(tokio::spawn(end_when_idle(Arc::downgrade(&self.shared))));
        Ok(endpoint)
    }
}

fn endpoint(model: &LocalModel) -> Endpoint {
    Endpoint { base_url: format!("http://127.0.0.1:{}", model.port), key: Secret::parse(&model.key) }
}

/// Ends with the server, or with the model it ended.
async fn end_when_idle(shared: Weak<Shared>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(shared) = shared.upgrade() else { return };
        let mut running = shared.running.lock().await;
        match &*running {
            Some(current) if current.last_asked.elapsed() < IDLE_AFTER => {}
            _ => {
                *running = None;
                return;
            }
        }
    }
}
