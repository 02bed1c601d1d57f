//! Every step of every change fails once: an error is told, nothing is different, and the next change works.

use futures::future::{BoxFuture, FutureExt as _, join_all};
use roost_storage::{Engine, Faults};
use roost_tests::{ENGINES, TestDatabase, dump, file_path, owner, removal, text};
use roost_workspace::{
    Condition, Edit, Limits, MIGRATIONS, Once, Owner, Prefix, Role, Rule, Verdict, WorkspaceError,
    Workspaces, Write, Writer,
};

/// More steps than any change has.
const STEPS_MAX: u32 = 100;

struct Scene {
    engine: Engine,
    database: TestDatabase,
    workspaces: Workspaces,
    owner: Owner,
    faults: Faults,
}

type Outcome<'a> = BoxFuture<'a, Result<(), WorkspaceError>>;

impl Scene {
    async fn new(engine: Engine) -> Self {
        let database = TestDatabase::new(engine, MIGRATIONS).await;
        let limits = Limits { versions_max: 2, ..Limits::default() };
        let workspaces = database.workspaces(limits);
        let faults = database.faults.clone();
        let scene = Self { engine, database, workspaces, owner: owner("acme", "main"), faults };
        for content in ["one", "two", "three"] {
            scene.write(vec![text("a.md", Condition::none(), content)]).await.unwrap();
        }
        scene
    }

    async fn write(&self, writes: Vec<Write>) -> Result<(), WorkspaceError> {
        self.workspaces.write(&self.owner, &Writer::person("anna"), writes, None).await.map(drop)
    }

    async fn dump(&self) -> Vec<String> {
        dump(&self.database.database, &self.owner.tenant).await
    }

    /// Lets each step of a change fail in turn, until it has as many steps as were let through.
    async fn fail_each_step<'a>(&'a self, name: &str, change: impl Fn() -> Outcome<'a>) {
        for step in 0..STEPS_MAX {
            let before = self.dump().await;
            self.faults.fail_after(step);
            let outcome = change().await;
            let came = !self.faults.take_back();
            if !came {
                assert!(step > 1, "{name} took no steps");
                outcome.unwrap_or_else(|error| panic!("{name} on {:?}: {error}", self.engine));
                assert_ne!(self.dump().await, before, "{name} changed nothing");
                return;
            }
            assert!(
                matches!(outcome, Err(WorkspaceError::Storage(_))),
                "{name}, step {step} on {:?}: {outcome:?}",
                self.engine
            );
            assert_eq!(self.dump().await, before, "{name}, step {step} on {:?}", self.engine);
            let next = text("next.md", Condition::none(), &format!("{name} {step}"));
            self.write(vec![next]).await.unwrap();
        }
        panic!("{name} has no end");
    }

    async fn fail_writes(&self) {
        let free = Condition::none;
        self.fail_each_step("create", || self.write(vec![text("b.md", free(), "new")]).boxed()).await;
        self.fail_each_step("replace", || self.write(vec![text("a.md", free(), "more")]).boxed()).await;
        let several = || {
            let writes =
                vec![text("c.md", free(), "c"), text("a.md", free(), "again"), removal("b.md", free())];
            self.write(writes).boxed()
        };
        self.fail_each_step("several", several).await;
        self.fail_each_step("remove", || self.write(vec![removal("c.md", free())]).boxed()).await;
        let writer = Writer::person("anna");
        let rename = || {
            let (writer, condition) = (writer.clone(), free());
            async move {
                let (from, to) = (file_path("a.md"), file_path("d.md"));
                self.workspaces.rename(&self.owner, &writer, &from, &to, &condition).await.map(drop)
            }
            .boxed()
        };
        self.fail_each_step("rename", rename).await;
        let undelete = || {
            let writer = writer.clone();
            async move { self.workspaces.undelete(&self.owner, &writer, &file_path("c.md")).await.map(drop) }
                .boxed()
        };
        self.fail_each_step("undelete", undelete).await;
        let edit = || {
            let writer = writer.clone();
            async move {
                let edits = [Edit::Append { text: "end".to_owned() }];
                let path = file_path("c.md");
                self.workspaces.edit(&self.owner, &writer, &path, &edits, &free()).await.map(drop)
            }
            .boxed()
        };
        self.fail_each_step("edit", edit).await;
        let once = || {
            async move {
                let once = Once { key: "key".to_owned(), digest: [7; 32] };
                let write = text("once.md", free(), "once");
                let writer = Writer::person("anna");
                let done =
                    self.workspaces.write_one(&self.owner, &writer, write, Some(("put".to_owned(), once)));
                let done = done.await?;
                assert!(!done.replayed);
                Ok(())
            }
            .boxed()
        };
        self.fail_each_step("once", once).await;
    }

    async fn fail_moments(&self) {
        let pin = || async move { self.workspaces.take_snapshot(&self.owner).await.map(drop) }.boxed();
        let moment = self.workspaces.usage(&self.owner).await.unwrap().sequence;
        self.fail_each_step("pin", pin).await;
        let pinned = self.workspaces.usage(&self.owner).await.unwrap().sequence;
        assert!(pinned > moment, "the writes between the attempts count");
        for content in ["1", "2", "3", "4"] {
            self.write(vec![text("d.md", Condition::none(), content)]).await.unwrap();
        }
        let unpin = || async move { self.workspaces.drop_snapshot(&self.owner, pinned).await }.boxed();
        self.fail_each_step("unpin", unpin).await;
    }

    async fn fail_proposals(&self) {
        let prefix = Prefix::parse("rules/").unwrap();
        let set =
            || async { self.workspaces.set_rule(&self.owner, &prefix, Some(Rule::Propose)).await }.boxed();
        self.fail_each_step("set rule", set).await;
        let agent = Writer { role: Role::Agent, ..Writer::person("agent") };
        let propose = || {
            let write = text("rules/a.md", Condition::none(), "proposed");
            let agent = agent.clone();
            async move { self.workspaces.write_one(&self.owner, &agent, write, None).await.map(drop) }.boxed()
        };
        self.fail_each_step("propose", propose).await;
        let id = self.workspaces.proposals(&self.owner).await.unwrap()[0].id;
        let decide = |verdict| {
            move || {
                async move { self.workspaces.decide(&self.owner, id, verdict, "anna").await.map(drop) }
                    .boxed()
            }
        };
        self.fail_each_step("approve", decide(Verdict::Approve)).await;
        propose().await.unwrap();
        let id = self.workspaces.proposals(&self.owner).await.unwrap()[0].id;
        let reject = || {
            async move { self.workspaces.decide(&self.owner, id, Verdict::Reject, "anna").await.map(drop) }
                .boxed()
        };
        self.fail_each_step("reject", reject).await;
    }
}

#[tokio::test]
async fn a_write_that_fails_at_any_step_leaves_nothing() {
    for engine in ENGINES {
        Scene::new(engine).await.fail_writes().await;
    }
}

#[tokio::test]
async fn a_moment_that_fails_at_any_step_leaves_everything() {
    for engine in ENGINES {
        let scene = Scene::new(engine).await;
        scene.write(vec![text("d.md", Condition::none(), "0")]).await.unwrap();
        scene.fail_moments().await;
    }
}

#[tokio::test]
async fn a_proposal_that_fails_at_any_step_leaves_nothing() {
    for engine in ENGINES {
        Scene::new(engine).await.fail_proposals().await;
    }
}

/// Those who are stored together: whoever is told that it worked is there, whoever is told that it did not is not.
#[tokio::test]
async fn a_step_that_fails_among_many_is_told_to_whom_it_concerns() {
    for engine in ENGINES {
        let scene = Scene::new(engine).await;
        for step in 0..STEPS_MAX {
            scene.faults.fail_after(step);
            let names: Vec<String> = (0..6).map(|number| format!("{step}-{number}.md")).collect();
            let writes =
                names.iter().map(|name| scene.write(vec![text(name, Condition::create_only(), "x")]));
            let outcomes = join_all(writes).await;
            let came = !scene.faults.take_back();
            for (name, outcome) in names.iter().zip(&outcomes) {
                let found = scene.workspaces.get(&scene.owner, &file_path(name), None).await;
                assert_eq!(outcome.is_ok(), found.is_ok(), "{engine:?} {step} {outcome:?}");
                if found.is_ok() {
                    scene.write(vec![removal(name, Condition::none())]).await.unwrap();
                }
            }
            if !came {
                assert!(outcomes.iter().all(Result::is_ok));
                break;
            }
        }
        let listing = scene.workspaces.list(&scene.owner, &Prefix::default()).await.unwrap();
        assert_eq!(listing.files.len(), 1);
        let usage = scene.workspaces.usage(&scene.owner).await.unwrap();
        let page = scene.workspaces.events(&scene.owner, 0, 10_000).await.unwrap();
        let sequences: Vec<i64> = page.events.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, (1..=usage.sequence).collect::<Vec<_>>(), "{engine:?}");
    }
}
