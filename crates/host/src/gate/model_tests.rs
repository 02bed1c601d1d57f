//! Random sequences of granting, revoking, editing and deciding, against a model that is simple enough to believe.

use super::{Caller, Decision, Gate, Giving, Why};
use crate::gate::policy::Policy;
use proptest::prelude::*;
use roost_protocol::{AppId, Ask, Asks, Digest, Evidence, Lasting, Origin, Reason, Right};

const RIGHTS: [&str; 7] = [
    "network:*.example.com",
    "network:a.example.com",
    "network:b.internal.corp",
    "files:write:/srv",
    "files:read:/srv/x",
    "model",
    "clipboard",
];
const ORIGINS: [Origin; 3] = [Origin::Local, Origin::Catalog, Origin::Generated];
const LASTINGS: [Lasting; 3] = [Lasting::Once, Lasting::Version, Lasting::Always];

#[derive(Debug, Clone)]
enum Act {
    Grant { app: usize, right: usize, lasting: usize },
    Revoke { app: usize, right: Option<usize> },
    Edit { app: usize, content: u8, asked: Vec<usize>, declared: bool },
    Decide { app: usize, right: usize },
    EndCall { app: usize },
    Reopen,
}

#[derive(Debug, Clone)]
struct App {
    origin: Origin,
    content: u8,
    asked: Vec<usize>,
    declared: bool,
}

#[derive(Debug, Clone, PartialEq)]
struct Given {
    app: usize,
    right: usize,
    content: Vec<u8>,
    asked: Vec<usize>,
    lasting: Lasting,
}

#[derive(Debug, Default)]
struct Model {
    given: Vec<Given>,
    tried: Vec<(usize, Vec<u8>, usize)>,
}

fn right(index: usize) -> Right {
    RIGHTS[index].parse().unwrap()
}

fn covers(wide: usize, narrow: usize) -> bool {
    wide == narrow || (wide, narrow) == (0, 1) || (wide, narrow) == (3, 4)
}

impl App {
    fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.content, u8::from(self.declared)];
        bytes.extend(self.asked.iter().map(|index| u8::try_from(*index).unwrap()));
        bytes
    }

    fn caller(&self, index: usize) -> Caller {
        Caller {
            app: AppId::new(format!("app{index}")),
            digest: Digest::of(&self.bytes()),
            origin: self.origin,
        }
    }

    fn asks(&self) -> Asks {
        let ask = |index: &usize| Ask {
            right: right(*index),
            evidence: Evidence::Source,
            line: None,
            original: None,
        };
        Asks { declared: self.declared, asks: self.asked.iter().map(ask).collect() }
    }

    fn asks_for(&self, wanted: usize) -> bool {
        self.asked.iter().any(|asked| covers(*asked, wanted))
    }

    fn asked_set(&self) -> Vec<usize> {
        let mut set = self.asked.clone();
        set.sort_unstable();
        set.dedup();
        set
    }
}

impl Model {
    fn has_tried(&self, index: usize, app: &App, wanted: usize) -> bool {
        let is_it = |(other, content, tried): &(usize, Vec<u8>, usize)| {
            *other == index && *content == app.bytes() && covers(*tried, wanted)
        };
        !app.declared && self.tried.iter().any(is_it)
    }

    /// The policy: `network:*.corp` is denied to all, `model` is allowed to local and catalog apps.
    fn decide(&mut self, index: usize, app: &App, wanted: usize) -> Option<Why> {
        if wanted == 2 {
            return Some(Why::Policy);
        }
        if app.asks_for(wanted) && wanted == 5 && app.origin != Origin::Generated {
            return None;
        }
        if !app.asks_for(wanted) && !self.has_tried(index, app, wanted) {
            if !app.declared {
                self.tried.push((index, app.bytes(), wanted));
            }
            return Some(Why::NotAsked);
        }
        let holds = |given: &Given| {
            let survives = given.lasting == Lasting::Always
                && app.origin == Origin::Local
                && given.asked == app.asked_set();
            given.app == index && covers(given.right, wanted) && (given.content == app.bytes() || survives)
        };
        if self.given.iter().any(holds) { None } else { Some(Why::NotGranted) }
    }

    fn grant(&mut self, index: usize, app: &App, given: usize, lasting: Lasting) -> Option<Reason> {
        if given == 2 {
            return Some(Reason::DeniedByPolicy);
        }
        if !app.asks_for(given) && !self.has_tried(index, app, given) {
            return Some(Reason::RightNotAsked);
        }
        self.given.retain(|old| (old.app, old.right) != (index, given) || old.content != app.bytes());
        let asked = app.asked_set();
        self.given.push(Given { app: index, right: given, content: app.bytes(), asked, lasting });
        None
    }
}

fn any_act() -> impl Strategy<Value = Act> {
    let (app, right) = (0..3usize, 0..RIGHTS.len());
    prop_oneof![
        3 => (app.clone(), right.clone(), 0..3usize).prop_map(|(app, right, lasting)| Act::Grant { app, right, lasting }),
        1 => (app.clone(), proptest::option::of(right.clone())).prop_map(|(app, right)| Act::Revoke { app, right }),
        2 => (app.clone(), 0..2u8, proptest::collection::vec(right.clone(), 0..4), any::<bool>())
            .prop_map(|(app, content, asked, declared)| Act::Edit { app, content, asked, declared }),
        8 => (app.clone(), right).prop_map(|(app, right)| Act::Decide { app, right }),
        1 => app.prop_map(|app| Act::EndCall { app }),
        1 => Just(Act::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn the_gate_decides_as_the_model_does(acts in proptest::collection::vec(any_act(), 1..50)) {
        let home = tempfile::tempdir().unwrap();
        let policy = || Policy::from_table("deny = [\"network:*.corp\"]".parse().unwrap(), None).unwrap();
        let mut gate = Gate::open(home.path(), policy()).unwrap();
        let mut model = Model::default();
        let mut apps = ORIGINS.map(|origin| App { origin, content: 0, asked: vec![0, 5], declared: false });
        let mut decisions = 0;
        for act in acts {
            match act {
                Act::Grant { app, right: given, lasting } => {
                    let giving = Giving { right: right(given), lasting: LASTINGS[lasting], granted_by: "me".to_owned() };
                    let result = gate.grant(&apps[app].caller(app), &apps[app].asks(), giving);
                    let expected = model.grant(app, &apps[app], given, LASTINGS[lasting]);
                    prop_assert_eq!(result.err().map(|failure| failure.reason), expected);
                }
                Act::Revoke { app, right: taken } => {
                    let name = apps[app].caller(app).app;
                    let revoked = gate.revoke(&name, taken.map(right).as_ref()).unwrap();
                    let before = model.given.len();
                    model.given.retain(|given| given.app != app || taken.is_some_and(|taken| !covers(taken, given.right)));
                    prop_assert_eq!(revoked.removed.len(), before - model.given.len());
                }
                Act::Edit { app, content, asked, declared } => {
                    apps[app] = App { origin: apps[app].origin, content, asked, declared };
                }
                Act::Decide { app, right: wanted } => {
                    decisions += 1;
                    let decision = gate.decide(&apps[app].caller(app), &apps[app].asks(), &right(wanted));
                    let why = match decision { Decision::Allowed { .. } => None, Decision::Denied { why, .. } => Some(why) };
                    prop_assert_eq!(why, model.decide(app, &apps[app], wanted));
                }
                Act::EndCall { app } => {
                    let caller = apps[app].caller(app);
                    gate.grants().consume_once(&caller.app, &caller.digest).unwrap();
                    gate.grants().note_run(&caller.app, &[]).unwrap();
                    let bytes = apps[app].bytes();
                    model.given.retain(|given| given.app != app || given.lasting != Lasting::Once || given.content != bytes);
                }
                Act::Reopen => {
                    drop(gate);
                    gate = Gate::open(home.path(), policy()).unwrap();
                }
            }
        }
        gate.audit().flush().unwrap();
        let listing = crate::gate::audit::rows(gate.audit().folder(), &crate::gate::audit::Filter::default());
        prop_assert!(listing.broken.is_none());
        let decided = listing.rows.iter().filter(|row| row.what == crate::gate::audit::What::Decide);
        prop_assert_eq!(decided.map(|row| row.count).sum::<u64>(), decisions);
    }
}
