//! How an answer may look: text, calls, or a choice of the two, with the grammar that holds the calls.
//!
//! Made from the request alone, before the model is asked, so that a schema that cannot be followed is refused at once.

use crate::grammar::{self, CALL_OPENING, call_head};
use crate::request::{Ask, Choice};

/// The form of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Plan {
    /// Text only.
    Text,
    /// Text in which a call may begin. From there on the grammar holds.
    TextOrCalls { names: Vec<String>, calls: Calls },
    /// Calls only. The answer begins with `opening`, which the model has no part in.
    CallsOnly { opening: String, names: Vec<String>, calls: Calls },
}

/// Calls that an answer may hold.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Calls {
    /// Holds what comes behind the opening, up to the end of one call.
    pub(crate) grammar: String,
    pub(crate) maximum: usize,
}

impl Plan {
    /// The plan for a request.
    pub(crate) fn of(ask: &Ask) -> Result<Self, grammar::Error> {
        let of_all = || grammar::of_call(&ask.tools);
        let names = || ask.tools.iter().map(|tool| tool.name.clone()).collect();
        let maximum = ask.calls_max;
        match ask.choice {
            Choice::Never => Ok(Self::Text),
            Choice::Auto => {
                Ok(Self::TextOrCalls { names: names(), calls: Calls { grammar: of_all()?, maximum } })
            }
            Choice::Required => {
                let opening = CALL_OPENING.to_owned();
                Ok(Self::CallsOnly { opening, names: names(), calls: Calls { grammar: of_all()?, maximum } })
            }
            Choice::Named(position) => {
                let tool = &ask.tools[position];
                let opening = format!("{CALL_OPENING}{}", call_head(&tool.name));
                let calls = Calls { grammar: grammar::of_arguments(tool)?, maximum: 1 };
                Ok(Self::CallsOnly { opening, names: names(), calls })
            }
        }
    }
}
