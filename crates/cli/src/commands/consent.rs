//! Asks a person, once and in plain words, for what an agent wants and was not given.
//!
//! Only at a terminal. Everywhere else nothing is asked: the agent is refused what it tries, and the refusal names the
//! command that grants it.

use super::rights;
use crate::output::Output;
use roost_host::{Host, RightState};
use roost_protocol::{Failure, Lasting};
use std::io::{self, BufRead as _, IsTerminal as _, Write as _};

/// What the person said.
enum Answer {
    Give(Lasting),
    No,
    /// Nothing that could be understood, or the end of the input: not now, and ask again.
    Later,
}

/// True when there is a person to ask.
pub(super) fn can_ask(output: Output) -> bool {
    !output.json && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks about everything that is open for this app.
pub(super) async fn ask(host: &Host, app: &str, by: &str, output: Output) -> Result<(), Failure> {
    if !can_ask(output) {
        return Ok(());
    }
    let open = host.open_questions(app).await?;
    if open.is_empty() {
        return Ok(());
    }
    output.note(&format!("{app} wants to:"));
    for right in &open {
        output.note(&format!("  - {}  [{}]", right.sentence, right.right));
    }
    let answer = answer();
    settle(host, app, by, &open, answer, output).await
}

async fn settle(
    host: &Host,
    app: &str,
    by: &str,
    open: &[RightState],
    answer: Answer,
    output: Output,
) -> Result<(), Failure> {
    match answer {
        Answer::Give(lasting) => {
            let rights: Vec<_> = open.iter().map(|right| right.right.clone()).collect();
            host.grant(app, &rights, lasting, by).await.map(drop)
        }
        Answer::No => {
            for right in open {
                host.say_no(app, &right.right).await?;
            }
            output.note(&format!("It runs without. `roost rights {app}` shows them again."));
            Ok(())
        }
        Answer::Later => {
            let states: Vec<_> = open.iter().map(|right| rights::state(right.state)).collect();
            output.note(&format!("It runs without ({}).", states.join(", ")));
            Ok(())
        }
    }
}

/// Asks for a line, and gives it in small letters; nothing at the end of the input.
pub(super) fn line(question: &str) -> String {
    write!(io::stderr(), "{question}").and_then(|()| io::stderr().flush()).ok();
    let mut line = String::new();
    match io::stdin().lock().read_line(&mut line) {
        Ok(_) => line.trim().to_lowercase(),
        Err(_) => String::new(),
    }
}

/// Asks a question that only a clear yes agrees to.
pub(super) fn says_yes(question: &str) -> bool {
    matches!(line(&format!("{question} [y]es, [n]o: ")).as_str(), "y" | "yes")
}

fn answer() -> Answer {
    match line("Allow? [o]nce, this [v]ersion, [a]lways, [n]o: ").as_str() {
        "o" | "once" => Answer::Give(Lasting::Once),
        "v" | "version" => Answer::Give(Lasting::Version),
        "a" | "always" => Answer::Give(Lasting::Always),
        "n" | "no" => Answer::No,
        _ => Answer::Later,
    }
}
