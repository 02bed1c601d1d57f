//! Tools, pages, schedules and hooks.

use super::{MESSAGE_BYTES_MAX, NAME, Probes, client, no_settings, own_error, shown};
use crate::native::{
    connection::Channel,
    contract::{
        CreateScheduleRequest, DeleteScheduleRequest, Empty, GetScheduleRequest, HookRequest, HttpRequest,
        ListSchedulesRequest, Schedule, ScheduleHistoryRequest, ScheduleNameRequest, ScheduleResponse,
        UpdateScheduleRequest, hook_service_client::HookServiceClient,
        schedule_service_client::ScheduleServiceClient, tool_service_client::ToolServiceClient,
        ui_service_client::UiServiceClient,
    },
};
use serde_json::{Value, json};

/// Once a year, so that nothing fires by itself meanwhile.
const ONCE_A_YEAR: &str = "0 0 0 1 1 *";

/// The same at another time.
const ONCE_A_YEAR_LATER: &str = "0 0 12 1 1 *";

/// Hooks of an app that are tried; there are ten points.
const HOOKS_MAX: usize = 20;

impl Probes<'_> {
    /// The rest of a tool is asked where a tool is used.
    pub(super) async fn tool(&mut self, channel: Channel) {
        let mut tool = client!(ToolServiceClient<Channel>, channel);
        self.ask("ToolService.Configure", tool.configure(no_settings()), |_| Ok("taken".to_owned())).await;
    }

    pub(super) async fn ui(&mut self, channel: Channel) {
        let mut ui = client!(UiServiceClient<Channel>, channel);
        let request =
            HttpRequest { method: "GET".to_owned(), path: "/".to_owned(), ..HttpRequest::default() };
        self.ask("UIService.HandleRequest", ui.handle_request(request), |answer| {
            let told = format!("status {}, {} bytes", answer.status_code, answer.body.len());
            if (100..600).contains(&answer.status_code) { Ok(told) } else { Err(told) }
        })
        .await;
        self.ask("UIService.Configure", ui.configure(no_settings()), |_| Ok("taken".to_owned())).await;
    }

    /// The life of one schedule, from its making to its end.
    pub(super) async fn schedule(&mut self, channel: Channel) {
        let mut schedules = client!(ScheduleServiceClient<Channel>, channel);
        let name = || NAME.to_owned();
        let named = || ScheduleNameRequest { name: name() };
        let asked = schedules.create(CreateScheduleRequest {
            name: name(),
            expression: ONCE_A_YEAR.to_owned(),
            task_type: "agent".to_owned(),
            message: "Hello".to_owned(),
            ..CreateScheduleRequest::default()
        });
        self.ask("ScheduleService.Create", asked, |answer| is(answer, |made| made.expression == ONCE_A_YEAR))
            .await;
        let asked = schedules.get(GetScheduleRequest { name: name() });
        self.ask("ScheduleService.Get", asked, |answer| is(answer, |found| found.expression == ONCE_A_YEAR))
            .await;
        let asked = schedules.list(ListSchedulesRequest { limit: 100, ..ListSchedulesRequest::default() });
        self.ask("ScheduleService.List", asked, |answer| {
            let is_there = answer.schedules.iter().any(|schedule| schedule.name == NAME);
            if is_there {
                Ok(format!("{} of them", answer.total))
            } else {
                Err("what was made is missing".to_owned())
            }
        })
        .await;
        let asked = schedules.update(UpdateScheduleRequest {
            name: name(),
            expression: ONCE_A_YEAR_LATER.to_owned(),
            task_type: "agent".to_owned(),
            message: "Hello".to_owned(),
            ..UpdateScheduleRequest::default()
        });
        self.ask("ScheduleService.Update", asked, |answer| {
            is(answer, |one| one.expression == ONCE_A_YEAR_LATER)
        })
        .await;
        self.ask("ScheduleService.Disable", schedules.disable(named()), |answer| {
            is(answer, |one| !one.enabled)
        })
        .await;
        self.ask("ScheduleService.Enable", schedules.enable(named()), |answer| is(answer, |one| one.enabled))
            .await;
        self.listen("ScheduleService.Triggers", schedules.triggers(Empty {})).await;
        let asked = schedules.trigger(named());
        self.ask("ScheduleService.Trigger", asked, |answer| own_error(&answer.error)).await;
        let asked = schedules.history(ScheduleHistoryRequest { name: name(), limit: 10, offset: 0 });
        self.ask("ScheduleService.History", asked, |answer| Ok(format!("{} entries", answer.entries.len())))
            .await;
        let asked = schedules.delete(DeleteScheduleRequest { name: name() });
        self.ask("ScheduleService.Delete", asked, |answer| {
            if answer.success { Ok("gone".to_owned()) } else { Err(shown(&answer.error)) }
        })
        .await;
        let asked = schedules.configure(no_settings());
        self.ask("ScheduleService.Configure", asked, |_| Ok("taken".to_owned())).await;
    }

    pub(super) async fn hooks(&mut self, channel: Channel) {
        let mut hooks = client!(HookServiceClient<Channel>, channel);
        let asked = hooks.list_hooks(Empty {});
        let listed = self.ask("HookService.ListHooks", asked, |answer| {
            let unknown: Vec<String> = answer
                .hooks
                .iter()
                .filter(|one| sample(&one.hook).is_null())
                .map(|one| shown(&one.hook))
                .collect();
            match unknown.as_slice() {
                [] => Ok(format!("{} of them", answer.hooks.len())),
                unknown => {
                    Ok(format!("{} of them; the host has no {}", answer.hooks.len(), unknown.join(", ")))
                }
            }
        });
        for one in listed.await.into_iter().flat_map(|listed| listed.hooks).take(HOOKS_MAX) {
            let payload = sample(&one.hook);
            if payload.is_null() {
                continue;
            }
            let request = HookRequest {
                hook: one.hook.clone(),
                payload: payload.to_string().into_bytes(),
                timestamp_ms: 0,
            };
            if one.r#type == "action" {
                let told = format!("told of {}", one.hook);
                self.ask("HookService.DoAction", hooks.do_action(request), |_| Ok(told)).await;
                continue;
            }
            let judge = |answer: &crate::native::contract::HookResponse| match serde_json::from_slice::<Value>(
                &answer.payload,
            ) {
                _ if !answer.error.is_empty() => own_error(&answer.error),
                _ if answer.payload.is_empty() => Ok(format!("{} stays as it is", one.hook)),
                Ok(_) => Ok(format!("{} was answered with {} bytes", one.hook, answer.payload.len())),
                Err(error) => Err(format!("{}: the payload is no JSON: {error}", one.hook)),
            };
            self.ask("HookService.ApplyFilter", hooks.apply_filter(request), judge).await;
        }
    }
}

/// Whether an answer holds the schedule that was asked about, as it has to be.
fn is(answer: &ScheduleResponse, right: impl FnOnce(&Schedule) -> bool) -> Result<String, String> {
    match &answer.schedule {
        _ if !answer.error.is_empty() => Err(shown(&answer.error)),
        None => Err("no schedule in the answer".to_owned()),
        Some(schedule) if schedule.name == NAME && right(schedule) => Ok("as it was asked for".to_owned()),
        Some(schedule) => {
            Err(format!("the schedule is not as it was asked for: {}", shown(&format!("{schedule:?}"))))
        }
    }
}

/// What the host sends at a hook; nothing for one that it does not have.
fn sample(hook: &str) -> Value {
    let result = json!({ "content": "Hello", "is_error": false, "image_url": "" });
    match hook {
        "tool.pre_execute" => json!({ "tool": NAME, "input": {} }),
        "tool.post_execute" => json!({ "tool": NAME, "input": {}, "result": result }),
        "message.pre_send" => json!({ "system_prompt": "Hello" }),
        "message.post_receive" => json!({ "response_text": "Hello" }),
        "memory.pre_store" => json!({ "key": "fact", "value": "Hello", "layer": "user" }),
        "memory.pre_recall" => json!({ "query": "Hello", "key": "Hello" }),
        "session.message_append" => json!({ "session_id": NAME, "role": "user", "content": "Hello" }),
        "prompt.system_sections" => json!({ "sections": ["Hello"] }),
        "steering.generate" => json!({ "messages": [] }),
        "response.stream" => json!({ "event": { "type": "text", "content": "Hello" } }),
        _ => Value::Null,
    }
}
