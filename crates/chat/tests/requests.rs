//! Requests as people type them, against a roster of 350 agents: is the right agent among those a model is shown?
//!
//! The concepts were tuned on the requests that are not `held_out`. Those were written after the ranking was frozen, and
//! the ranking was not changed for them: the distance between the two counts is what the tuning flatters.

#![allow(clippy::unwrap_used, reason = "a test that cannot read its data has nothing to say")]

use roost_chat::{Priorities, Ranking, TOOLS_BYTES_MAX, TOOLS_MAX, ToolDefinition, ToolForms, offer};
use serde::Deserialize;
use serde_json::{Value, json};

#[path = "requests/filler.rs"]
mod filler;

/// An ordinary answer: an offer is no longer.
const ANSWER_BYTES_MAX: usize = 2048;

#[derive(Deserialize)]
struct Agent {
    name: String,
    description: String,
    parameters: Value,
}

#[derive(Deserialize)]
struct Request {
    request: String,
    agent: String,
    #[serde(default)]
    held_out: bool,
}

/// The hundred described agents among 250 others, mixed so that the order of the roster helps nobody.
fn roster() -> Vec<ToolDefinition> {
    let agents: Vec<Agent> = serde_json::from_str(include_str!("requests/agents.json")).unwrap();
    let mut fillers = filler::agents(250).into_iter();
    let mut roster = Vec::new();
    for (place, agent) in agents.into_iter().enumerate() {
        roster.extend(fillers.by_ref().take(2 + place % 2));
        let Agent { name, description, parameters } = agent;
        roster.push(ToolDefinition { name, description, parameters });
    }
    roster.extend(fillers);
    roster
}

fn requests() -> Vec<Request> {
    serde_json::from_str(include_str!("requests/requests.json")).unwrap()
}

/// How many right agents stand among the first so many, and on the shortlist.
#[derive(Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Tally {
    requests: usize,
    first: usize,
    first_three: usize,
    first_ten: usize,
    shortlisted: usize,
}

fn tally(requests: impl Iterator<Item = Request>) -> Tally {
    let roster = roster();
    let ranking = Ranking::new(roster.iter().map(ToolDefinition::described));
    let mut tally = Tally::default();
    for Request { request, agent, .. } in requests {
        let order = ranking.rank(&[(&request, 1.0)]);
        let place = order.iter().position(|entry| roster[entry.index].name == agent).unwrap();
        let list = ToolForms::of(&roster).shortlist(Priorities { order: &order, ..Priorities::default() });
        tally.requests += 1;
        tally.first += usize::from(place == 0);
        tally.first_three += usize::from(place < 3);
        tally.first_ten += usize::from(place < 10);
        tally.shortlisted +=
            usize::from(list.tools.iter().any(|tool| tool["function"]["name"] == json!(agent)));
    }
    tally
}

#[test]
fn requests_that_were_tuned_for_find_their_agent() {
    let tally = tally(requests().into_iter().filter(|request| !request.held_out));
    assert_eq!(tally.requests, 100);
    assert!(tally.shortlisted >= 95, "{tally:?}");
    insta::assert_debug_snapshot!(tally, @r"
    Tally {
        requests: 100,
        first: 61,
        first_three: 87,
        first_ten: 98,
        shortlisted: 100,
    }
    ");
}

#[test]
fn requests_nobody_tuned_for_find_their_agent_less_often() {
    let tally = tally(requests().into_iter().filter(|request| request.held_out));
    insta::assert_debug_snapshot!(tally, @r"
    Tally {
        requests: 30,
        first: 10,
        first_three: 17,
        first_ten: 21,
        shortlisted: 21,
    }
    ");
}

#[test]
fn every_shortlist_is_within_both_limits_and_counts_what_it_leaves_out() {
    let roster = roster();
    assert_eq!(roster.len(), 350);
    let forms = ToolForms::of(&roster);
    let ranking = Ranking::new(roster.iter().map(ToolDefinition::described));
    for Request { request, .. } in requests() {
        let order = ranking.rank(&[(&request, 1.0)]);
        let list = forms.shortlist(Priorities { order: &order, ..Priorities::default() });
        let size = serde_json::to_vec(&list.tools).unwrap().len();
        assert!(size < TOOLS_BYTES_MAX && list.tools.len() <= TOOLS_MAX, "{request}");
        assert_eq!(list.left_out + list.tools.len(), roster.len());
        assert!(list.tools.len() >= 70, "{} for {request}", list.tools.len());
    }
}

#[test]
fn pinned_agents_are_on_every_shortlist() {
    let roster = roster();
    let ranking = Ranking::new(roster.iter().map(ToolDefinition::described));
    let order = ranking.rank(&[("will it rain", 1.0)]);
    let pinned: Vec<&str> =
        order.iter().rev().take(40).map(|entry| roster[entry.index].name.as_str()).collect();
    let list =
        ToolForms::of(&roster).shortlist(Priorities { order: &order, pinned: &pinned, used: &["TodoBoard"] });
    let has = |name: &str| list.tools.iter().any(|tool| tool["function"]["name"] == json!(name));
    assert!(pinned.iter().all(|name| has(name)) && has("TodoBoard") && has("WeatherAgent"));
}

#[test]
fn every_request_gets_an_offer_of_ordinary_length() {
    let roster = roster();
    let ranking = Ranking::new(roster.iter().map(ToolDefinition::described));
    for Request { request, .. } in requests() {
        let offer = offer(&request, &roster, &ranking.rank(&[(&request, 1.0)]));
        assert!(offer.text.len() <= ANSWER_BYTES_MAX, "{}", offer.text);
        assert!(offer.text.contains("roost login") && offer.choices.len() <= 3);
    }
}
