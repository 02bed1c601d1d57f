//! Assembles a seccomp filter as a search tree.
//!
//! When a filter is installed, the kernel runs it once for each of its several hundred calls to learn which ones it
//! always allows. Tools that write one comparison after the other make that take half a millisecond for every worker;
//! a tree takes a tenth of it.

use std::collections::BTreeMap;

/// When a call is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum When {
    Always,
    /// Always, as if the kernel did not know it: programs then use an older call, whose arguments a filter can see.
    Unknown,
    /// When all checks of one of these lists hold.
    Any(Vec<Vec<Check>>),
}

/// One look at an argument. The kernel passes 64 bits, and most calls read only the lower half.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Check {
    /// Position of the half in what the kernel passes to a filter.
    offset: u32,
    mask: u32,
    value: u32,
    is_equal: bool,
}

/// Where the arguments begin.
const ARGUMENTS: u32 = 16;
/// Where the architecture stands, and the number of the call.
const ARCHITECTURE: u32 = 4;
const NUMBER: u32 = 0;

impl Check {
    pub(super) fn equals(argument: u32, value: u32) -> Self {
        Self { offset: ARGUMENTS + 8 * argument, mask: u32::MAX, value, is_equal: true }
    }

    pub(super) fn differs(argument: u32, value: u32) -> Self {
        Self { is_equal: false, ..Self::equals(argument, value) }
    }

    /// The same for the upper half.
    pub(super) fn differs_above(argument: u32, value: u32) -> Self {
        Self { offset: ARGUMENTS + 8 * argument + 4, ..Self::differs(argument, value) }
    }

    pub(super) fn has_any_bit(argument: u32, mask: u32) -> Self {
        Self { mask, ..Self::differs(argument, 0) }
    }

    pub(super) fn has_bits(argument: u32, mask: u32, value: u32) -> Self {
        Self { mask, ..Self::equals(argument, value) }
    }
}

/// One instruction, as the kernel reads it.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

impl Instruction {
    pub(super) fn bytes(&self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&self.code.to_ne_bytes());
        (bytes[2], bytes[3]) = (self.if_true, self.if_false);
        bytes[4..].copy_from_slice(&self.value.to_ne_bytes());
        bytes
    }
}

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const AND: u16 = (libc::BPF_ALU | libc::BPF_AND | libc::BPF_K) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const GO_TO: u16 = (libc::BPF_JMP | libc::BPF_JA) as u16;
const ANSWER: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

/// Numbers of an older way to make calls on x86.
const OLD_NUMBERS: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const OWN_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const OWN_ARCHITECTURE: u32 = 0xc000_00b7;

/// Where a jump goes to; known by name until everything has its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum To {
    Next,
    Place(usize),
}

#[derive(Debug, Clone, Copy)]
struct Step {
    code: u16,
    value: u32,
    if_true: To,
    if_false: To,
}

/// Steps in the making. A place is a number that stands for a position not yet known.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    places: Vec<Option<usize>>,
}

impl Steps {
    fn place(&mut self) -> usize {
        self.places.push(None);
        self.places.len() - 1
    }

    fn is_here(&mut self, place: usize) {
        self.places[place] = Some(self.steps.len());
    }

    fn add(&mut self, code: u16, value: u32) {
        self.jump(code, value, To::Next, To::Next);
    }

    fn jump(&mut self, code: u16, value: u32, if_true: To, if_false: To) {
        self.steps.push(Step { code, value, if_true, if_false });
    }

    /// Jumps as distances. Those that depend on something are short: the long ones go halfway through the numbers.
    fn finish(self) -> Vec<Instruction> {
        let distance = |from: usize, to: To| match to {
            To::Next => 0,
            To::Place(place) => {
                self.places[place].expect("every place was reached while assembling") - from - 1
            }
        };
        let short =
            |from, to| u8::try_from(distance(from, to)).expect("one rule is shorter than a jump is long");
        let instruction = |(from, step): (usize, &Step)| match step.code {
            GO_TO => Instruction {
                code: GO_TO,
                if_true: 0,
                if_false: 0,
                value: u32::try_from(distance(from, step.if_true)).expect("a filter has few steps"),
            },
            code => Instruction {
                code,
                if_true: short(from, step.if_true),
                if_false: short(from, step.if_false),
                value: step.value,
            },
        };
        self.steps.iter().enumerate().map(instruction).collect()
    }
}

/// A filter that asks the host about these calls and allows all others. Calls of another architecture end the process;
/// those whose flags a filter cannot see do not exist, and the C library uses the ones whose flags it can.
pub(super) fn assemble(rules: &BTreeMap<u32, When>) -> Vec<Instruction> {
    let mut steps = Steps::default();
    let (ours, number_fits) = (steps.place(), steps.place());
    steps.add(LOAD, ARCHITECTURE);
    steps.jump(IF_EQUAL, OWN_ARCHITECTURE, To::Place(ours), To::Next);
    steps.add(ANSWER, libc::SECCOMP_RET_KILL_PROCESS);
    steps.is_here(ours);
    steps.add(LOAD, NUMBER);
    steps.jump(IF_AT_LEAST, OLD_NUMBERS, To::Next, To::Place(number_fits));
    steps.add(ANSWER, UNKNOWN);
    steps.is_here(number_fits);
    let rules: Vec<(u32, &When)> = rules.iter().map(|(number, when)| (*number, when)).collect();
    search(&mut steps, &rules);
    steps.finish()
}

/// The answer of a kernel that does not know a call.
const UNKNOWN: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS.unsigned_abs();

/// Halves the numbers until one is left, whose rule stands right there: a jump to a far place could be too long.
fn search(steps: &mut Steps, rules: &[(u32, &When)]) {
    match rules {
        [] => steps.add(ANSWER, libc::SECCOMP_RET_ALLOW),
        [(number, when)] => {
            let other = steps.place();
            steps.jump(IF_EQUAL, *number, To::Next, To::Place(other));
            match when {
                When::Always => steps.add(ANSWER, libc::SECCOMP_RET_USER_NOTIF),
                When::Unknown => steps.add(ANSWER, UNKNOWN),
                When::Any(ways) => check_arguments(steps, ways),
            }
            steps.is_here(other);
            steps.add(ANSWER, libc::SECCOMP_RET_ALLOW);
        }
        _ => {
            let (lower, upper) = rules.split_at(rules.len() / 2);
            let (lower_half, upper_half) = (steps.place(), steps.place());
            steps.jump(IF_AT_LEAST, upper[0].0, To::Next, To::Place(lower_half));
            steps.jump(GO_TO, 0, To::Place(upper_half), To::Next);
            steps.is_here(lower_half);
            search(steps, lower);
            steps.is_here(upper_half);
            search(steps, upper);
        }
    }
}

/// Refuses when all checks of one way hold; each body has its own ends, because jumps only go forward.
fn check_arguments(steps: &mut Steps, ways: &[Vec<Check>]) {
    let ask = steps.place();
    for way in ways {
        let next_way = steps.place();
        for (index, check) in way.iter().enumerate() {
            steps.add(LOAD, check.offset);
            if check.mask != u32::MAX {
                steps.add(AND, check.mask);
            }
            let holds = if index + 1 == way.len() { To::Place(ask) } else { To::Next };
            let (if_true, if_false) =
                if check.is_equal { (holds, To::Place(next_way)) } else { (To::Place(next_way), holds) };
            steps.jump(IF_EQUAL, check.value, if_true, if_false);
        }
        steps.is_here(next_way);
    }
    steps.add(ANSWER, libc::SECCOMP_RET_ALLOW);
    steps.is_here(ask);
    steps.add(ANSWER, libc::SECCOMP_RET_USER_NOTIF);
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Runs a filter as the kernel would.
    pub(crate) fn run(filter: &[Instruction], number: u32, arguments: [u64; 6]) -> u32 {
        run_for(filter, OWN_ARCHITECTURE, number, arguments)
    }

    fn run_for(filter: &[Instruction], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let load = |offset: u32| match offset {
            NUMBER => number,
            ARCHITECTURE => architecture,
            other => {
                let argument = arguments[((other - ARGUMENTS) / 8) as usize];
                if (other - ARGUMENTS).is_multiple_of(8) { argument as u32 } else { (argument >> 32) as u32 }
            }
        };
        let (mut at, mut accumulator) = (0, 0);
        loop {
            let Instruction { code, if_true, if_false, value } = filter[at];
            let jump = |holds: bool| usize::from(if holds { if_true } else { if_false });
            at += 1;
            match code {
                LOAD => accumulator = load(value),
                AND => accumulator &= value,
                IF_EQUAL => at += jump(accumulator == value),
                IF_AT_LEAST => at += jump(accumulator >= value),
                GO_TO => at += value as usize,
                ANSWER => return value,
                other => panic!("no such instruction: {other}"),
            }
        }
    }

    fn expected(rules: &BTreeMap<u32, When>, number: u32, arguments: [u64; 6]) -> bool {
        let holds = |check: &Check| {
            let argument = arguments[((check.offset - ARGUMENTS) / 8) as usize];
            let half =
                if (check.offset - ARGUMENTS).is_multiple_of(8) { argument } else { argument >> 32 } as u32;
            (half & check.mask == check.value) == check.is_equal
        };
        match rules.get(&number) {
            None | Some(When::Unknown) => false,
            Some(When::Always) => true,
            Some(When::Any(ways)) => ways.iter().any(|way| way.iter().all(holds)),
        }
    }

    fn checks() -> impl Strategy<Value = Check> {
        (0..3u32, 0..4u32, 0..4u32, any::<bool>(), any::<bool>()).prop_map(
            |(argument, mask, value, equal, above)| {
                let offset = ARGUMENTS + 8 * argument + if above { 4 } else { 0 };
                Check { offset, mask: if mask == 0 { u32::MAX } else { mask }, value, is_equal: equal }
            },
        )
    }

    proptest! {
        #[test]
        fn a_filter_refuses_exactly_what_its_rules_say(
            always in proptest::collection::btree_set(0..60u32, 0..30),
            some in proptest::collection::btree_map(
                60..80u32, proptest::collection::vec(proptest::collection::vec(checks(), 1..3), 1..4), 0..6),
            number in 0..90u32,
            arguments: [u8; 6],
            above in 0..3u64,
        ) {
            let mut rules: BTreeMap<u32, When> = always.into_iter().map(|number| (number, When::Always)).collect();
            rules.extend(some.into_iter().map(|(number, ways)| (number, When::Any(ways))));
            let arguments = arguments.map(|argument| u64::from(argument % 4) | above << 32);
            let answer = run(&assemble(&rules), number, arguments);
            prop_assert_eq!(answer == libc::SECCOMP_RET_USER_NOTIF, expected(&rules, number, arguments));
        }
    }

    #[test]
    fn other_architectures_old_numbers_and_clone3_get_nowhere() {
        let clone3 = libc::SYS_clone3 as u32;
        let filter = assemble(&BTreeMap::from([(0, When::Always), (clone3, When::Unknown)]));
        let unknown = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
        assert_eq!(run_for(&filter, 0x4000_0003, 0, [0; 6]), libc::SECCOMP_RET_KILL_PROCESS);
        assert_eq!(run(&filter, OLD_NUMBERS, [0; 6]), unknown);
        assert_eq!(run(&filter, OLD_NUMBERS + 101, [0; 6]), unknown);
        assert_eq!(run(&filter, libc::SYS_clone3 as u32, [0; 6]), unknown);
    }
}
