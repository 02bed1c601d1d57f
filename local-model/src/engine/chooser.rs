//! Chooses the next token: by the request's temperature, and within a grammar where one holds.
//!
//! The grammar is asked about the one token that the model wants, and about all of them only when it refuses. Most
//! tokens of a call are wanted anyway, and asking about a vocabulary of 150 000 costs as much as the model itself.

use super::{Failure, generation::Halt};
use crate::limits::TOP_K;
use crate::request::Sampling;
use llama_cpp_2::context::LlamaContext;
use llama_cpp_2::model::LlamaModel;
use llama_cpp_2::sampling::LlamaSampler;
use llama_cpp_2::token::LlamaToken;
use llama_cpp_2::token::data::LlamaTokenData;
use llama_cpp_2::token::data_array::LlamaTokenDataArray;

/// The place of the token that was read last.
const LAST: i32 = -1;

pub(crate) struct Chooser {
    draw: LlamaSampler,
    grammar: Option<LlamaSampler>,
}

impl Chooser {
    pub(crate) fn new(sampling: Sampling) -> Self {
        let draw = if sampling.temperature == 0.0 {
            LlamaSampler::greedy()
        } else {
            LlamaSampler::chain_simple([
                LlamaSampler::top_k(TOP_K),
                LlamaSampler::top_p(sampling.top_p, 1),
                LlamaSampler::temp(sampling.temperature),
                LlamaSampler::dist(sampling.seed),
            ])
        };
        Self { draw, grammar: None }
    }

    /// From the next token on, only what the grammar takes.
    pub(crate) fn hold_to(&mut self, model: &LlamaModel, grammar: &str) -> Result<(), Halt> {
        let sampler = LlamaSampler::grammar(model, grammar, "root");
        self.grammar = Some(sampler.map_err(|_| Halt::Failed(Failure::Grammar))?);
        Ok(())
    }

    /// From the next token on, whatever the model likes.
    pub(crate) fn release(&mut self) {
        self.grammar = None;
    }

    pub(crate) fn choose(&mut self, context: &LlamaContext<'_>) -> Result<LlamaToken, Halt> {
        let mut all = context.token_data_array_ith(LAST);
        all.apply_sampler(&mut self.draw);
        let wanted = all.selected_token().ok_or_else(|| stuck("no token was drawn"))?;
        let Some(grammar) = &mut self.grammar else { return Ok(wanted) };
        let token = if takes(grammar, wanted) {
            wanted
        } else {
            let mut all = context.token_data_array_ith(LAST);
            all.apply_sampler(grammar);
            all.data.retain(|candidate| candidate.logit().is_finite());
            if all.data.is_empty() {
                return Err(stuck("no token fits the grammar"));
            }
            all.apply_sampler(&mut self.draw);
            all.selected_token().ok_or_else(|| stuck("no token was drawn"))?
        };
        grammar.try_accept(token).map_err(|_| stuck("the grammar takes back a token"))?;
        Ok(token)
    }
}

fn takes(grammar: &mut LlamaSampler, token: LlamaToken) -> bool {
    let mut alone = LlamaTokenDataArray::new(vec![LlamaTokenData::new(token, 1.0, 0.0)], false);
    alone.apply_sampler(grammar);
    alone.data.first().is_some_and(|candidate| candidate.logit().is_finite())
}

fn stuck(why: &str) -> Halt {
    Halt::Failed(Failure::Model(why.to_owned()))
}
