//! Schedules that the app keeps, and fires when it is told to. One that is called so ends its stream after each.

use crate::{
    App,
    contract::{
        CreateScheduleRequest, DeleteScheduleRequest, DeleteScheduleResponse, Empty, GetScheduleRequest,
        HealthCheckRequest, HealthCheckResponse, ListSchedulesRequest, ListSchedulesResponse, Schedule,
        ScheduleHistoryEntry, ScheduleHistoryRequest, ScheduleHistoryResponse, ScheduleNameRequest,
        ScheduleResponse, ScheduleTrigger, SettingsMap, TriggerResponse, UpdateScheduleRequest,
        schedule_service_server::ScheduleService,
    },
};
use std::{
    collections::BTreeMap,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::broadcast;
use tokio_stream::{Stream, StreamExt as _, wrappers::BroadcastStream};
use tonic::{Request, Response, Status};

#[derive(Clone)]
pub(crate) struct Kept {
    schedules: Arc<Mutex<BTreeMap<String, Schedule>>>,
    history: Arc<Mutex<Vec<ScheduleHistoryEntry>>>,
    fired: broadcast::Sender<ScheduleTrigger>,
}

impl Default for Kept {
    fn default() -> Self {
        Self { schedules: Arc::default(), history: Arc::default(), fired: broadcast::channel(16).0 }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl App {
    fn changed(&self, name: &str, change: impl FnOnce(&mut Schedule)) -> Response<ScheduleResponse> {
        let mut schedules = lock(&self.kept.schedules);
        let schedule = schedules.get_mut(name).map(|schedule| {
            change(schedule);
            schedule.clone()
        });
        let error = if schedule.is_some() { String::new() } else { format!("no schedule {name}") };
        Response::new(ScheduleResponse { schedule, error })
    }
}

#[tonic::async_trait]
impl ScheduleService for App {
    async fn health_check(
        &self,
        _: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        Ok(Response::new(self.health()))
    }

    async fn configure(&self, _: Request<SettingsMap>) -> Result<Response<Empty>, Status> {
        Ok(Response::new(Empty {}))
    }

    async fn create(
        &self,
        request: Request<CreateScheduleRequest>,
    ) -> Result<Response<ScheduleResponse>, Status> {
        let new = request.into_inner();
        let mut schedules = lock(&self.kept.schedules);
        if schedules.contains_key(&new.name) {
            let error = format!("there is a schedule {}", new.name);
            return Ok(Response::new(ScheduleResponse { schedule: None, error }));
        }
        let schedule = Schedule {
            id: format!("id of {}", new.name),
            name: new.name.clone(),
            expression: new.expression,
            task_type: new.task_type,
            message: new.message,
            deliver: new.deliver,
            enabled: true,
            created_at: "2026-11-17T10:00:00Z".to_owned(),
            next_run: "not a time".to_owned(),
            metadata: new.metadata,
            ..Schedule::default()
        };
        schedules.insert(new.name, schedule.clone());
        Ok(Response::new(ScheduleResponse { schedule: Some(schedule), error: String::new() }))
    }

    async fn get(&self, request: Request<GetScheduleRequest>) -> Result<Response<ScheduleResponse>, Status> {
        Ok(self.changed(&request.into_inner().name, |_| {}))
    }

    async fn list(
        &self,
        request: Request<ListSchedulesRequest>,
    ) -> Result<Response<ListSchedulesResponse>, Status> {
        let page = request.into_inner();
        let schedules = lock(&self.kept.schedules);
        let (offset, limit) = (usize::try_from(page.offset), usize::try_from(page.limit));
        let shown = schedules.values().skip(offset.unwrap_or(0)).take(limit.unwrap_or(0)).cloned().collect();
        let total = i64::try_from(schedules.len()).unwrap_or(i64::MAX);
        Ok(Response::new(ListSchedulesResponse { schedules: shown, total }))
    }

    async fn update(
        &self,
        request: Request<UpdateScheduleRequest>,
    ) -> Result<Response<ScheduleResponse>, Status> {
        let new = request.into_inner();
        Ok(self.changed(&new.name.clone(), |schedule| {
            schedule.expression = new.expression;
            schedule.message = new.message;
        }))
    }

    async fn delete(
        &self,
        request: Request<DeleteScheduleRequest>,
    ) -> Result<Response<DeleteScheduleResponse>, Status> {
        let name = request.into_inner().name;
        let success = lock(&self.kept.schedules).remove(&name).is_some();
        let error = if success { String::new() } else { format!("no schedule {name}") };
        Ok(Response::new(DeleteScheduleResponse { success, error }))
    }

    async fn enable(
        &self,
        request: Request<ScheduleNameRequest>,
    ) -> Result<Response<ScheduleResponse>, Status> {
        Ok(self.changed(&request.into_inner().name, |schedule| schedule.enabled = true))
    }

    async fn disable(
        &self,
        request: Request<ScheduleNameRequest>,
    ) -> Result<Response<ScheduleResponse>, Status> {
        Ok(self.changed(&request.into_inner().name, |schedule| schedule.enabled = false))
    }

    async fn trigger(
        &self,
        request: Request<ScheduleNameRequest>,
    ) -> Result<Response<TriggerResponse>, Status> {
        let name = request.into_inner().name;
        let Some(schedule) = lock(&self.kept.schedules).get(&name).cloned() else {
            let error = format!("no schedule {name}");
            return Ok(Response::new(TriggerResponse { success: false, output: String::new(), error }));
        };
        let trigger = ScheduleTrigger {
            schedule_id: schedule.id,
            name: name.clone(),
            task_type: if name == "program" { "bash".to_owned() } else { schedule.task_type },
            command: "touch it".to_owned(),
            message: schedule.message,
            deliver: schedule.deliver,
            ..ScheduleTrigger::default()
        };
        let heard = self.kept.fired.send(trigger).unwrap_or(0);
        let mut history = lock(&self.kept.history);
        let id = history.len().to_string();
        history.push(ScheduleHistoryEntry {
            id,
            schedule_name: name,
            started_at: "2026-11-17T10:00:00Z".to_owned(),
            success: true,
            ..ScheduleHistoryEntry::default()
        });
        let output = format!("heard by {heard}");
        Ok(Response::new(TriggerResponse { success: heard > 0, output, error: "nobody listens".to_owned() }))
    }

    async fn history(
        &self,
        request: Request<ScheduleHistoryRequest>,
    ) -> Result<Response<ScheduleHistoryResponse>, Status> {
        let page = request.into_inner();
        let history = lock(&self.kept.history);
        let of: Vec<_> = history.iter().rev().filter(|entry| entry.schedule_name == page.name).collect();
        let total = i64::try_from(of.len()).unwrap_or(i64::MAX);
        let (offset, limit) = (usize::try_from(page.offset), usize::try_from(page.limit));
        let shown = of.into_iter().skip(offset.unwrap_or(0)).take(limit.unwrap_or(0));
        Ok(Response::new(ScheduleHistoryResponse { entries: shown.cloned().collect(), total }))
    }

    type TriggersStream = Pin<Box<dyn Stream<Item = Result<ScheduleTrigger, Status>> + Send>>;

    async fn triggers(&self, _: Request<Empty>) -> Result<Response<Self::TriggersStream>, Status> {
        let fired = BroadcastStream::new(self.kept.fired.subscribe())
            .filter_map(|fired| fired.ok().map(Ok::<_, Status>));
        let most = if self.is("ends its stream") { 1 } else { usize::MAX };
        Ok(Response::new(Box::pin(fired.take(most))))
    }
}
