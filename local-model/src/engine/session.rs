//! What the model has read: one sequence of tokens, of which as much as possible is kept from request to request.
//!
//! Invariant: `read` is exactly what llama.cpp has in its cache for the sequence, or both are empty.

use super::Failure;
use super::generation::Halt;
use crate::limits::BATCH_TOKENS;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::llama_batch::LlamaBatch;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::token::LlamaToken;

/// There is one sequence only, since there is one generation at a time.
const SEQUENCE: i32 = 0;

/// A model with its memory of one sequence.
pub(crate) struct Session<'m> {
    pub(crate) model: &'m LlamaModel,
    context: LlamaContext<'m>,
    batch: LlamaBatch<'static>,
    read: Vec<LlamaToken>,
}

impl<'m> Session<'m> {
    pub(crate) fn new(model: &'m LlamaModel, context: LlamaContext<'m>) -> Self {
        Self { model, context, batch: LlamaBatch::new(BATCH_TOKENS, 1), read: Vec::new() }
    }

    /// Tokens that fit.
    pub(crate) fn context_tokens(&self) -> usize {
        self.context.n_ctx() as usize
    }

    /// The model with the likelihoods of the token that comes next.
    pub(crate) fn context(&self) -> &LlamaContext<'m> {
        &self.context
    }

    /// The tokens of a text in which the template's marks count.
    pub(crate) fn tokens(&self, text: &str) -> Vec<LlamaToken> {
        self.model.vocab().tokenize(text.as_bytes(), false, true)
    }

    /// The tokens of a whole prompt, which some models want to begin with a mark.
    pub(crate) fn prompt_tokens(&self, prompt: &str) -> Vec<LlamaToken> {
        let mut tokens = self.tokens(prompt);
        let begin = self.model.vocab().bos();
        if self.model.vocab().should_add_bos() && tokens.first() != Some(&begin) {
            tokens.insert(0, begin);
        }
        tokens
    }

    /// Makes the model have read exactly `wanted`, which must not be empty. Says how much of it was kept from before.
    pub(crate) fn read_exactly(
        &mut self,
        wanted: &[LlamaToken],
        gone: &dyn Fn() -> bool,
    ) -> Result<usize, Halt> {
        let same = self.read.iter().zip(wanted).take_while(|(have, want)| have == want).count();
        // The last token is always read again: likelihoods exist only for what was just read.
        let kept = self.keep(same.min(wanted.len().saturating_sub(1)));
        for piece in wanted[kept..].chunks(BATCH_TOKENS) {
            if gone() {
                return Err(Halt::Gone);
            }
            self.decode(piece)?;
        }
        Ok(kept)
    }

    /// Reads one more token.
    pub(crate) fn read_on(&mut self, token: LlamaToken) -> Result<(), Halt> {
        self.decode(&[token])
    }

    /// Forgets everything.
    pub(crate) fn forget(&mut self) {
        self.context.clear_kv_cache();
        self.read.clear();
    }

    fn keep(&mut self, length: usize) -> usize {
        if length < self.read.len() {
            let sequence = u32::try_from(SEQUENCE).ok();
            let from = u32::try_from(length).ok();
            // Some kinds of models cannot forget a part. They forget everything.
            if matches!(self.context.clear_kv_cache_seq(sequence, from, None), Ok(true)) {
                self.read.truncate(length);
            } else {
                self.forget();
            }
        }
        self.read.len()
    }

    fn decode(&mut self, tokens: &[LlamaToken]) -> Result<(), Halt> {
        self.batch.clear();
        for (index, token) in tokens.iter().enumerate() {
            let position = i32::try_from(self.read.len() + index).expect("the context is bounded");
            let last = index + 1 == tokens.len();
            self.batch.add(*token, position, &[SEQUENCE], last).map_err(failed)?;
        }
        self.context.decode(&mut self.batch).map_err(failed)?;
        self.read.extend_from_slice(tokens);
        Ok(())
    }
}

fn failed(error: impl std::fmt::Display) -> Halt {
    Halt::Failed(Failure::Model(error.to_string()))
}
