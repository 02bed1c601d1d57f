//! `roost chat`: a conversation in the terminal, or one message and its answer.

mod screen; // what a person sees of a turn
mod session; // the conversation so far

use self::{
    screen::Screen,
    session::{Line, Session},
};
use crate::{
    args::ChatArguments,
    config::Config,
    output::Output,
    partner::{Method, Partner, failure_in},
};
use futures::StreamExt as _;
use roost_host::Conversations;
use roost_protocol::{Failure, Reason};
use serde_json::Value;
use std::{
    io::{self, IsTerminal as _, Read as _},
    process::ExitCode,
};

/// Longest message that is read from a pipe.
const PIPED_BYTES_MAX: u64 = 8 << 20;

pub(crate) async fn chat(
    config: Config,
    arguments: ChatArguments,
    output: &Output,
) -> Result<ExitCode, Failure> {
    let conversations = Conversations::new(config.host.home.conversations());
    if arguments.list {
        return Ok(list(&conversations, output));
    }
    let history_file = config.host.home.run().join("chat_history");
    let message = message(&arguments)?;
    let mut session = Session::open(conversations, &arguments)?;
    let partner = Partner::find(config).await?;
    match message {
        Some(message) => once(&partner, &mut session, &message, output).await,
        None => talk(&partner, &mut session, &history_file, output).await,
    }
}

/// The message on the command line, with what is piped in; none when a person is to type.
fn message(arguments: &ChatArguments) -> Result<Option<String>, Failure> {
    let words = arguments.message.join(" ");
    if io::stdin().is_terminal() {
        return Ok(Some(words).filter(|words| !words.trim().is_empty()));
    }
    let mut piped = String::new();
    io::stdin()
        .take(PIPED_BYTES_MAX)
        .read_to_string(&mut piped)
        .map_err(|error| Failure::new(Reason::WrongUse, format!("read standard input: {error}")))?;
    let parts: Vec<&str> = [words.trim(), piped.trim()].into_iter().filter(|part| !part.is_empty()).collect();
    if parts.is_empty() {
        return Err(Failure::new(Reason::WrongUse, "there is no message: give one, or pipe one in"));
    }
    Ok(Some(parts.join("\n\n")))
}

async fn once(
    partner: &Partner,
    session: &mut Session,
    message: &str,
    output: &Output,
) -> Result<ExitCode, Failure> {
    if output.json {
        let answer = partner.ask(Method::Post, "/chat", Some(&session.request(message))).await?;
        session.said(message, &answer)?;
        output.document(&answer);
        return Ok(ExitCode::SUCCESS);
    }
    let answer = turn(partner, session, message, &mut Screen::for_one_answer(*output)).await?;
    session.said(message, &answer)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads lines and answers them until the person leaves.
async fn talk(
    partner: &Partner,
    session: &mut Session,
    history_file: &std::path::Path,
    output: &Output,
) -> Result<ExitCode, Failure> {
    session.greet(partner, output).await?;
    let mut lines = session::Lines::open(history_file)?;
    loop {
        let (read, next) = lines.read().await?;
        lines = next;
        let message = match session.understand(read) {
            Line::Message(message) => message,
            Line::Nothing => continue,
            Line::Show(text) => {
                output.line(&text);
                continue;
            }
            Line::Leave => {
                session.farewell(output);
                return Ok(ExitCode::SUCCESS);
            }
        };
        let mut screen = Screen::for_conversation(*output);
        tokio::select! {
            answered = turn(partner, session, &message, &mut screen) => match answered {
                Ok(answer) => session.said(&message, &answer)?,
                Err(failure) => {
                    screen.break_off();
                    output.explain(&failure);
                }
            },
            // Dropping the turn ends the model's request and the agents.
            _ = tokio::signal::ctrl_c() => {
                screen.break_off();
                output.note("stopped");
            }
        }
    }
}

/// One turn, shown while it runs; the last event is the answer.
async fn turn(
    partner: &Partner,
    session: &Session,
    message: &str,
    screen: &mut Screen,
) -> Result<Value, Failure> {
    let mut events = partner.stream(Method::Post, "/chat/stream", Some(&session.request(message))).await?;
    while let Some(event) = events.next().await {
        let event = event?;
        match event["type"].as_str() {
            Some("delta") => screen.words(event["text"].as_str().unwrap_or_default()),
            Some("tool") => screen.tool(&event),
            Some("done") => {
                screen.finish(&event);
                return Ok(event);
            }
            Some("error") => return Err(failure_in(&event)),
            _ => {}
        }
    }
    Err(Failure::new(Reason::HostUnreachable, "the host ended the answer in the middle"))
}

fn list(conversations: &Conversations, output: &Output) -> ExitCode {
    let listed = conversations.list();
    if output.json {
        output.document(&serde_json::json!({ "conversations": listed }));
    } else if listed.is_empty() {
        output.note("There are no conversations yet. Begin one with `roost chat`.");
    }
    if !output.json {
        for one in listed {
            output.line(&format!("{}  {:>3} turns  {}  {}", one.session_id, one.turns, one.time, one.title));
        }
    }
    ExitCode::SUCCESS
}
