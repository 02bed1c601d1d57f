//! The points at which apps take part: a closed list, with the names of the contract.

/// A point of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Point {
    ToolPreExecute,
    ToolPostExecute,
    MessagePreSend,
    MessagePostReceive,
    MemoryPreStore,
    MemoryPreRecall,
    SessionMessageAppend,
    PromptSystemSections,
    SteeringGenerate,
    ResponseStream,
}

const ALL: [(Point, &str); 10] = [
    (Point::ToolPreExecute, "tool.pre_execute"),
    (Point::ToolPostExecute, "tool.post_execute"),
    (Point::MessagePreSend, "message.pre_send"),
    (Point::MessagePostReceive, "message.post_receive"),
    (Point::MemoryPreStore, "memory.pre_store"),
    (Point::MemoryPreRecall, "memory.pre_recall"),
    (Point::SessionMessageAppend, "session.message_append"),
    (Point::PromptSystemSections, "prompt.system_sections"),
    (Point::SteeringGenerate, "steering.generate"),
    (Point::ResponseStream, "response.stream"),
];

impl Point {
    pub(crate) fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(_, known)| *known == name).map(|(point, _)| *point)
    }

    pub(crate) fn name(self) -> &'static str {
        ALL[self as usize].1
    }

    pub(super) fn bit(self) -> u32 {
        1 << self as u8
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Point};
    use roost_apps::native::HOOKS;

    #[test]
    fn the_points_are_those_that_a_manifest_may_name() {
        for (index, (point, name)) in ALL.iter().enumerate() {
            assert_eq!((*point as usize, point.name(), Point::named(name)), (index, *name, Some(*point)));
            assert!(HOOKS.contains(name), "{name}");
        }
        assert_eq!(Point::named("agent.turn"), None);
    }
}
