//! The calls of one answer in their order, without repetitions.
//!
//! Small models that may make several calls tend to make the same one again and again. The first call is told as it
//! comes; a later one only when it is whole and differs from all before, and a repetition ends the answer.

use super::CallPart;

/// What a part of a call means for the client.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum News {
    /// Parts to tell, all of the call with this number.
    Tell { index: usize, parts: Vec<CallPart>, complete: bool },
    /// The call repeats an earlier one: the model has nothing more to say.
    Repetition,
}

#[derive(Default)]
pub(crate) struct CallOrder {
    whole: Vec<(String, String)>,
    name: String,
    arguments: String,
}

impl CallOrder {
    /// Calls that were told to their end.
    pub(crate) fn complete(&self) -> usize {
        self.whole.len()
    }

    /// Takes the next part.
    pub(crate) fn next(&mut self, part: CallPart) -> News {
        let index = self.whole.len();
        let as_it_comes = index == 0;
        match &part {
            CallPart::Named(name) => {
                self.name.clone_from(name);
                self.arguments.clear();
            }
            CallPart::Arguments(text) => self.arguments.push_str(text),
            // Only the letters behind the arguments: nothing to tell.
            CallPart::Closed => return News::Tell { index, parts: Vec::new(), complete: false },
            CallPart::Complete => {
                let call = (std::mem::take(&mut self.name), std::mem::take(&mut self.arguments));
                if self.whole.contains(&call) {
                    return News::Repetition;
                }
                let held = [CallPart::Named(call.0.clone()), CallPart::Arguments(call.1.clone())];
                self.whole.push(call);
                let parts = if as_it_comes { Vec::new() } else { held.to_vec() };
                return News::Tell { index, parts, complete: true };
            }
        }
        let parts = if as_it_comes { vec![part] } else { Vec::new() };
        News::Tell { index, parts, complete: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> CallPart {
        CallPart::Named(name.to_owned())
    }

    fn arguments(text: &str) -> CallPart {
        CallPart::Arguments(text.to_owned())
    }

    #[test]
    fn first_call_comes_in_parts_and_the_next_whole() {
        let mut order = CallOrder::default();
        assert_eq!(order.next(named("a")), News::Tell { index: 0, parts: vec![named("a")], complete: false });
        assert_eq!(
            order.next(arguments("{}")),
            News::Tell { index: 0, parts: vec![arguments("{}")], complete: false }
        );
        assert_eq!(order.next(CallPart::Complete), News::Tell { index: 0, parts: vec![], complete: true });
        assert_eq!(order.next(named("b")), News::Tell { index: 1, parts: vec![], complete: false });
        assert_eq!(order.next(arguments("{}")), News::Tell { index: 1, parts: vec![], complete: false });
        let whole = vec![named("b"), arguments("{}")];
        assert_eq!(order.next(CallPart::Complete), News::Tell { index: 1, parts: whole, complete: true });
        assert_eq!(order.complete(), 2);
    }

    #[test]
    fn repetition_is_not_told() {
        let mut order = CallOrder::default();
        for _ in 0..2 {
            order.next(named("a"));
            order.next(arguments("{\"x\": 1"));
            order.next(arguments("}"));
            if order.next(CallPart::Complete) == News::Repetition {
                assert_eq!(order.complete(), 1);
                return;
            }
        }
        panic!("the repetition was told");
    }
}
