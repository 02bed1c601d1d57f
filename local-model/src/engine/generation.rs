//! One answer: reads the prompt, takes token after token, and turns them into events as the plan says.

use super::chooser::Chooser;
use super::session::Session;
use super::{Event, Failure, FinishReason, Job, Usage};
use crate::grammar::CALL_OPENING;
use crate::limits::PROMPT_BYTES_PER_TOKEN_MAX;
use crate::plan::{Calls, Plan};
use crate::reply::{CallOrder, CallPart, CallText, Characters, Heard, Listening, News};
use llama_cpp_2::token::LlamaToken;
use std::num::NonZeroU16;

/// Why an answer does not come to its end.
pub(crate) enum Halt {
    /// Nobody wants it any more.
    Gone,
    Failed(Failure),
}

/// What the model is writing.
enum Stage<'j> {
    /// Text, in which a call may begin where there are calls to make.
    Talking {
        listening: Listening,
        calls: Option<&'j Calls>,
    },
    Calling {
        text: CallText,
        calls: &'j Calls,
    },
    /// A call is made, and another may follow. Anything else ends the answer: what a model says about results that
    /// it has not seen is made up.
    Between {
        listening: Listening,
        calls: &'j Calls,
    },
}

/// How far the text of a call has come.
enum Progress {
    GoesOn,
    /// The call is written to its end.
    Closed,
    /// Nothing more is wanted: it was the last that may be made, or it repeats an earlier one.
    Over,
}

struct Answer<'s, 'm, 'j> {
    session: &'s mut Session<'m>,
    job: &'j Job,
    gone: &'s dyn Fn() -> bool,
    stage: Stage<'j>,
    chooser: Chooser,
    characters: Characters,
    /// Prompt and answer.
    tokens: Vec<LlamaToken>,
    prompt_tokens: usize,
    cached_tokens: usize,
    /// Number of tokens from which on the model has been free.
    free_from: usize,
    /// Where each token since then begins in the text since then.
    token_starts: Vec<usize>,
    order: CallOrder,
}

/// Makes the answer to a job, and says how it ended.
pub(crate) fn generate(
    session: &mut Session<'_>,
    job: &Job,
    gone: &dyn Fn() -> bool,
) -> Result<(FinishReason, Usage), Halt> {
    let context_tokens = session.context_tokens();
    let too_long = |prompt_tokens| Halt::Failed(Failure::ContextExceeded { prompt_tokens, context_tokens });
    if job.prompt.len() / PROMPT_BYTES_PER_TOKEN_MAX > context_tokens {
        return Err(too_long(job.prompt.len() / PROMPT_BYTES_PER_TOKEN_MAX));
    }
    let mut tokens = session.prompt_tokens(&job.prompt);
    let prompt_tokens = tokens.len();
    let mut chooser = Chooser::new(job.sampling);
    let stage = match &job.plan {
        Plan::Text => Stage::Talking { listening: Listening::new(Vec::new()), calls: None },
        Plan::TextOrCalls { names, calls } => {
            Stage::Talking { listening: Listening::new(names.clone()), calls: Some(calls) }
        }
        Plan::CallsOnly { opening, calls, .. } => {
            tokens.extend(session.tokens(opening));
            chooser.hold_to(session.model, &calls.grammar)?;
            Stage::Calling { text: CallText::new(), calls }
        }
    };
    // One token of answer must fit, or there is nothing to ask for.
    if tokens.is_empty() || tokens.len() >= context_tokens {
        return Err(too_long(prompt_tokens));
    }
    let cached_tokens = session.read_exactly(&tokens, gone)?.min(prompt_tokens);
    let characters = Characters::default();
    let free_from = tokens.len();
    let mut answer = Answer {
        session,
        job,
        gone,
        stage,
        chooser,
        characters,
        tokens,
        prompt_tokens,
        cached_tokens,
        free_from,
        token_starts: Vec::new(),
        order: CallOrder::default(),
    };
    answer.tell(Event::Started)?;
    answer.begin_as_planned()?;
    let reason = answer.write()?;
    Ok((reason, answer.usage()))
}

impl Answer<'_, '_, '_> {
    /// Tells what the plan has written for the model.
    fn begin_as_planned(&mut self) -> Result<(), Halt> {
        match &self.job.plan {
            Plan::CallsOnly { opening, .. } => {
                let text = opening.strip_prefix(CALL_OPENING).unwrap_or_default();
                self.take_call_text(text).map(drop)
            }
            _ => Ok(()),
        }
    }

    fn write(&mut self) -> Result<FinishReason, Halt> {
        let room = self.session.context_tokens() - self.prompt_tokens;
        let tokens_max = self.prompt_tokens + self.job.tokens_max.min(room);
        loop {
            if (self.gone)() {
                return Err(Halt::Gone);
            }
            if self.tokens.len() >= tokens_max {
                return self.finish(FinishReason::Length);
            }
            let token = self.chooser.choose(self.session.context())?;
            let vocabulary = self.session.model.vocab();
            // A mark that is not an end is the beginning of somebody else's turn: the answer is over as well.
            if vocabulary.is_eog(token) || vocabulary.is_control(token) {
                return self.finish(FinishReason::Stop);
            }
            let bytes = vocabulary.token_to_piece(token, false, None::<NonZeroU16>);
            let text = self.characters.push(&bytes);
            self.tokens.push(token);
            match &mut self.stage {
                Stage::Talking { listening, .. } => {
                    self.token_starts.push(listening.len());
                    match listening.hear(&text) {
                        Heard::Text(text) => self.tell_text(text)?,
                        Heard::Call { text, at } => {
                            self.tell_text(text)?;
                            self.turn_to_call(at)?;
                            continue;
                        }
                    }
                }
                Stage::Between { listening, .. } => {
                    self.token_starts.push(listening.len());
                    match listening.hear(&text) {
                        Heard::Call { text, at } if text.is_empty() => {
                            self.turn_to_call(at)?;
                            continue;
                        }
                        Heard::Text(text) if text.is_empty() => {}
                        _ => return self.finish(FinishReason::Stop),
                    }
                }
                Stage::Calling { .. } => match self.take_call_text(&text)? {
                    Progress::GoesOn => {}
                    Progress::Closed => self.set_free(),
                    Progress::Over => return self.finish(FinishReason::Stop),
                },
            }
            self.session.read_on(token)?;
        }
    }

    /// Replaces what the model wrote from `at` on by the mark that it should have written, and holds it to the
    /// grammar from there. Whatever clothes the call came in, the model now believes to have worn the right ones.
    fn turn_to_call(&mut self, at: usize) -> Result<(), Halt> {
        let (listening, calls) = match &self.stage {
            Stage::Talking { listening, calls: Some(calls) } | Stage::Between { listening, calls } => {
                (listening, *calls)
            }
            _ => return Ok(()),
        };
        let kept = self.token_starts.iter().rposition(|start| *start <= at).unwrap_or(0);
        let start = self.token_starts.get(kept).copied().unwrap_or(0);
        let again = format!("{}{CALL_OPENING}", listening.part(start, at));
        self.tokens.truncate(self.free_from + kept);
        self.tokens.extend(self.session.tokens(&again));
        if self.tokens.len() >= self.session.context_tokens() {
            return Err(Halt::Failed(Failure::ContextExceeded {
                prompt_tokens: self.tokens.len(),
                context_tokens: self.session.context_tokens(),
            }));
        }
        self.chooser.hold_to(self.session.model, &calls.grammar)?;
        self.session.read_exactly(&self.tokens, self.gone)?;
        self.characters = Characters::default();
        self.stage = Stage::Calling { text: CallText::new(), calls };
        Ok(())
    }

    /// Leaves it to the model whether another call follows.
    fn set_free(&mut self) {
        let (Plan::TextOrCalls { names, calls } | Plan::CallsOnly { names, calls, .. }) = &self.job.plan
        else {
            return;
        };
        self.chooser.release();
        self.free_from = self.tokens.len();
        self.token_starts.clear();
        self.stage = Stage::Between { listening: Listening::new(names.clone()), calls };
    }

    /// Tells the parts of a call in `text`.
    fn take_call_text(&mut self, text: &str) -> Result<Progress, Halt> {
        let Stage::Calling { text: reader, calls } = &mut self.stage else { return Ok(Progress::GoesOn) };
        let maximum = calls.maximum;
        for part in reader.read(text) {
            if part == CallPart::Closed {
                return Ok(Progress::Closed);
            }
            let News::Tell { index, parts, complete } = self.order.next(part) else {
                return Ok(Progress::Over);
            };
            for part in parts {
                match part {
                    CallPart::Named(name) => self.tell(Event::CallBegan { index, name })?,
                    CallPart::Arguments(text) => self.tell(Event::CallArguments { index, text })?,
                    CallPart::Complete | CallPart::Closed => {}
                }
            }
            if complete && index + 1 >= maximum {
                return Ok(Progress::Over);
            }
        }
        Ok(Progress::GoesOn)
    }

    fn finish(&mut self, reason: FinishReason) -> Result<FinishReason, Halt> {
        if let Stage::Talking { listening, .. } = &mut self.stage {
            let rest = listening.rest();
            self.tell_text(rest)?;
        }
        let called = self.order.complete() > 0 && reason == FinishReason::Stop;
        Ok(if called { FinishReason::ToolCalls } else { reason })
    }

    fn tell_text(&self, text: String) -> Result<(), Halt> {
        if text.is_empty() { Ok(()) } else { self.tell(Event::Text(text)) }
    }

    /// The channel holds every event of an answer, so that one that does not fit has no reader.
    fn tell(&self, event: Event) -> Result<(), Halt> {
        self.job.events.try_send(event).map_err(|_| Halt::Gone)
    }

    fn usage(&self) -> Usage {
        Usage {
            prompt_tokens: self.prompt_tokens,
            cached_tokens: self.cached_tokens,
            completion_tokens: self.tokens.len() - self.prompt_tokens,
        }
    }
}
