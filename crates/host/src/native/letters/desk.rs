//! Whose turn it is: one letter of each conversation at a time, several conversations side by side.

use super::{
    LiveApp,
    line::{Letter, Rights, Wish},
};
use crate::{
    conversations::SessionId,
    converse::{ChatRequest, Speaker},
    host::{Host, Inner},
};
use roost_chat::{History, HistoryRule, history, split_slots};
use roost_protocol::{Digest, Failure, Reason, UserGuid};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Weak},
};
use tokio::{
    sync::mpsc,
    task::{Id, JoinSet},
};

/// Conversations of one app that are answered at the same time; the others wait with the app.
const TURNS_MAX: usize = 16;

/// Letters of one conversation that wait for the one before; with more of them the app is not heard for a while.
const WAITING_MAX: usize = 16;

/// What somebody elsewhere is told when there is no answer: why is for those who run the host.
const SORRY: &str = "I cannot answer right now. Please try again later.";

/// Answers every letter, until nobody brings any more.
pub(super) async fn answer_all(
    live: Arc<LiveApp>,
    mut letters: mpsc::Receiver<Letter>,
    host: Weak<Inner>,
    rights: Rights,
) {
    let mut turns = JoinSet::new();
    let mut running: HashMap<Id, String> = HashMap::new();
    let mut waiting: HashMap<String, VecDeque<Letter>> = HashMap::new();
    // A letter of a conversation that has too many: while there is one, none is taken.
    let mut held: Option<Letter> = None;
    loop {
        let next = tokio::select! {
            letter = letters.recv(), if held.is_none() && running.len() < TURNS_MAX => {
                let Some(letter) = letter else { return };
                match waiting.get_mut(&letter.conversation) {
                    None => {
                        waiting.insert(letter.conversation.clone(), VecDeque::new());
                        Some(letter)
                    }
                    Some(queue) if queue.len() < WAITING_MAX => {
                        queue.push_back(letter);
                        None
                    }
                    Some(_) => {
                        held = Some(letter);
                        None
                    }
                }
            }
            Some(ended) = turns.join_next_with_id(), if !turns.is_empty() => {
                let id = match ended {
                    Ok((id, ())) => id,
                    Err(error) => {
                        tracing::error!(%error, "answer a message");
                        error.id()
                    }
                };
                let conversation = running.remove(&id).unwrap_or_default();
                let queue = waiting.get_mut(&conversation);
                let next = queue.and_then(|queue| {
                    let next = queue.pop_front();
                    queue.extend(held.take_if(|held| held.conversation == conversation));
                    next
                });
                if next.is_none() {
                    waiting.remove(&conversation);
                }
                next
            }
        };
        if let Some(letter) = next {
            let conversation = letter.conversation.clone();
            let turn = turns.spawn(take_turn(Arc::clone(&live), host.clone(), letter, rights));
            running.insert(turn.id(), conversation);
        }
    }
}

async fn take_turn(live: Arc<LiveApp>, host: Weak<Inner>, letter: Letter, rights: Rights) {
    let Some(inner) = host.upgrade() else { return };
    let host = Host { inner };
    let app = live.folder.id().to_owned();
    if letter.wish == Wish::Known {
        return keep_unanswered(&host, &app, &letter);
    }
    let answered = converse(&host, &app, &letter).await;
    let (text, outcome) = match answered {
        Ok((text, run)) => (text, json!({ "run": run })),
        Err(failure) if failure.reason == Reason::TooDeep => return,
        Err(failure) => {
            tracing::warn!(app, %failure, "a message is not answered");
            (SORRY.to_owned(), json!({ "reason": failure.reason }))
        }
    };
    let mut detail = json!({ "app": app, "conversation": letter.conversation, "outcome": outcome });
    if rights.send
        && !text.trim().is_empty()
        && let Err(failure) = letter.answer(&live, text).await
    {
        tracing::warn!(app, %failure, "an answer is not sent");
        detail["not_sent"] = json!(failure.message);
    }
    host.inner.book.note("letter", detail);
}

/// What wants no answer is said in its conversation all the same: whoever looks there, and who is asked next, knows it.
fn keep_unanswered(host: &Host, app: &str, letter: &Letter) {
    let said = [json!({ "role": "user", "content": letter.text })];
    let kept = session_of(app, &letter.conversation)
        .and_then(|session| host.append_to_conversation(&session, &said));
    let mut detail = json!({ "app": app, "conversation": letter.conversation, "outcome": "wants no answer" });
    if let Err(failure) = kept {
        tracing::warn!(app, %failure, "a message is not kept");
        detail["not_kept"] = json!(failure.message);
    }
    host.inner.book.note("letter", detail);
}

async fn converse(host: &Host, app: &str, letter: &Letter) -> Result<(String, Option<String>), Failure> {
    let session = session_of(app, &letter.conversation)?;
    let request = ChatRequest {
        input: letter.text.clone(),
        history: kept(host, &session)?,
        user: Some(user_of(app, &letter.user)?),
        depth: letter.depth,
        speaker: Speaker::Elsewhere,
        ..ChatRequest::default()
    };
    let answer = host.converse(request, None).await.map_err(Failure::from)?;
    if let Err(failure) = host.append_to_conversation(&session, &answer.said) {
        tracing::warn!(app, %failure, "a conversation is not kept");
    }
    Ok((split_slots(&answer.text).main, answer.run))
}

/// What was said before in this conversation.
fn kept(host: &Host, session: &SessionId) -> Result<History, Failure> {
    let messages = match host.conversations().messages(session) {
        Ok(messages) => messages,
        Err(failure) if failure.reason == Reason::UnknownSession => Vec::new(),
        Err(failure) => return Err(failure),
    };
    history(Some(Value::Array(messages)), HistoryRule::Filtered)
        .map_err(|error| Failure::new(Reason::Internal, error.to_string()))
}

/// The same conversation of the same app always has the same id, and no other has it.
fn session_of(app: &str, conversation: &str) -> Result<SessionId, Failure> {
    let hex = Digest::of(format!("conversation\0{app}\0{conversation}").as_bytes()).to_string();
    let number = u128::from_str_radix(&hex[..32], 16)
        .map_err(|error| Failure::new(Reason::Internal, error.to_string()))?;
    SessionId::parse(&uuid::Uuid::from_u128(number).to_string())
}

/// Somebody elsewhere is nobody of this home, whatever they call themselves: their memory is their own.
fn user_of(app: &str, user: &str) -> Result<UserGuid, Failure> {
    let hex = Digest::of(format!("user\0{app}\0{user}").as_bytes()).to_string();
    UserGuid::parse(&format!("elsewhere-{}", &hex[..32]))
        .map_err(|error| Failure::new(Reason::Internal, error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::{session_of, user_of};

    #[test]
    fn conversations_and_people_of_one_app_are_not_those_of_another() {
        let sessions = [("a", "1"), ("a", "2"), ("b", "1")].map(|(app, id)| session_of(app, id).unwrap());
        assert_eq!(sessions[0], session_of("a", "1").unwrap());
        assert!(sessions[0] != sessions[1] && sessions[0] != sessions[2]);
        let users = [("a", "ada"), ("b", "ada")].map(|(app, user)| user_of(app, user).unwrap());
        assert!(users[0] != users[1] && users[0].as_str() != "ada");
    }
}
