//! A safety grade from the rights an app asks for: A is harmless, E may do almost anything.

use roost_protocol::{Access, AgentsUse, Right};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How much an app could do with everything it asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// Nothing outside its own folders, and the model.
    A,
    /// Parts of the host: memory, other agents' answers, files with history, variables.
    B,
    /// Computers that it names, or files of the person to read.
    C,
    /// Files of the person to change, other agents to change, or what it reads sent to computers that it names.
    D,
    /// Any computer, or programs of this machine.
    E,
}

impl Grade {
    /// The grade of these rights.
    #[must_use]
    pub fn of(rights: &[Right]) -> Self {
        let worst = rights.iter().map(of_one).max().unwrap_or(Self::A);
        let sends = rights.iter().any(|right| matches!(right, Right::Network(_)));
        let knows = rights.iter().any(|right| {
            matches!(right, Right::Files { .. } | Right::Environment(_) | Right::Memory(_) | Right::Clipboard)
        });
        // Each of the two is one thing; together they carry things out.
        if sends && knows { worst.max(Self::D) } else { worst }
    }

    /// What it means.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            Self::A => "it stays in its own folders",
            Self::B => "it uses parts of the host, and nothing outside",
            Self::C => "it reaches the computers it names, or reads some of your files",
            Self::D => "it can change your files or other agents, or send out what it reads",
            Self::E => "it can reach any computer or start programs",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, to)
    }
}

fn of_one(right: &Right) -> Grade {
    match right {
        Right::Model | Right::Notifications | Right::Storage(_) => Grade::A,
        Right::Memory(_)
        | Right::Workspace { .. }
        | Right::Events { .. }
        | Right::Schedule
        | Right::Environment(_)
        | Right::Agents(AgentsUse::Read | AgentsUse::Call(_)) => Grade::B,
        Right::Network(_)
        | Right::Secret { .. }
        | Right::Clipboard
        | Right::Feature(_)
        | Right::Files { access: Access::Read, .. } => Grade::C,
        Right::Files { access: Access::Write, .. } | Right::Agents(AgentsUse::Write) | Right::Hooks(_) => {
            Grade::D
        }
        Right::AnyNetwork | Right::Subprocess => Grade::E,
    }
}

#[cfg(test)]
mod tests {
    use super::Grade;

    #[test]
    fn grades_follow_what_could_be_done() {
        for (rights, grade) in [
            (&[][..], Grade::A),
            (&["model"], Grade::A),
            (&["model", "memory:write"], Grade::B),
            (&["env:KEY"], Grade::B),
            (&["network:api.example.com"], Grade::C),
            (&["secret:KEY@api.example.com:authorization"], Grade::C),
            (&["network:api.example.com", "env:KEY"], Grade::D),
            (&["files:read:~/a"], Grade::C),
            (&["files:read:~/a", "network:api.example.com"], Grade::D),
            (&["files:write:~/a"], Grade::D),
            (&["agents:write"], Grade::D),
            (&["network:*"], Grade::E),
            (&["subprocess"], Grade::E),
        ] {
            let parsed: Vec<_> = rights.iter().map(|right| right.parse().unwrap()).collect();
            assert_eq!(Grade::of(&parsed), grade, "{rights:?}");
        }
    }
}
