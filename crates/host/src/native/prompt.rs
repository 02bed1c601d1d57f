//! What a model is told about the native apps that run: which ones, and the skills that fit what is talked about.

use super::{folder::NativeFolder, running::NativeApps, state::NativePhase};
use roost_apps::native::Skill;
use serde_json::Value;

/// Skills in one prompt.
const SKILLS_MAX: usize = 4;

/// Their texts together.
const SKILL_CHARACTERS_MAX: usize = 16_000;

impl NativeApps {
    /// The parts of a prompt that are about native apps; none when none runs.
    pub(crate) fn sections(&self, input: &str, history: &[Value]) -> Vec<String> {
        let running = self.folders_in(NativePhase::Running);
        if running.is_empty() {
            return Vec::new();
        }
        let mut sections = vec![catalog(&running)];
        let mut skills: Vec<&Skill> = running.iter().filter_map(|folder| folder.skill.as_ref()).collect();
        skills.retain(|skill| is_meant(skill, input, history));
        skills.sort_by(|one, other| (other.priority, &one.name).cmp(&(one.priority, &other.name)));
        let mut room = SKILL_CHARACTERS_MAX;
        for skill in skills.into_iter().take(SKILLS_MAX) {
            let text = format!("\n## {}\n{}", skill.name, skill.body.trim());
            // A skill is not cut: half of an instruction may say the opposite of the whole.
            if let Some(left) = room.checked_sub(text.chars().count()) {
                room = left;
                sections.push(text);
            }
        }
        sections
    }
}

/// The running apps, in the words of the contract.
fn catalog(running: &[NativeFolder]) -> String {
    let mut text = "\n## Installed Apps\n".to_owned();
    for folder in running {
        let manifest = &folder.manifest;
        text.push_str(&format!("\n- **{}** ({})", manifest.name, manifest.id));
        if !manifest.description.is_empty() {
            text.push_str(&format!(" — {}", manifest.description));
        }
        let provides: Vec<String> = manifest.provides.iter().map(ToString::to_string).collect();
        text.push_str(&format!(". Provides: {}. Status: running.", provides.join(", ")));
    }
    text
}

/// True when one of its triggers stands in what was said now, or so lately that it still counts.
fn is_meant(skill: &Skill, input: &str, history: &[Value]) -> bool {
    let on_this_machine = skill.platform.is_empty() || skill.platform.iter().any(|name| name == "linux");
    if !skill.enabled || !on_this_machine {
        return false;
    }
    let earlier = history.iter().rev().filter(|message| message["role"] == "user");
    let lately = usize::try_from(skill.max_turns).unwrap_or(usize::MAX);
    let said = earlier.filter_map(|message| message["content"].as_str()).take(lately);
    let said: Vec<String> = std::iter::once(input).chain(said).map(str::to_lowercase).collect();
    let triggers = skill.triggers.iter().filter(|trigger| !trigger.trim().is_empty());
    triggers
        .map(|trigger| trigger.to_lowercase())
        .any(|trigger| said.iter().any(|said| said.contains(&trigger)))
}

#[cfg(test)]
mod tests {
    use super::is_meant;
    use roost_apps::native::Skill;
    use serde_json::{Value, json};

    #[test]
    fn a_skill_is_meant_by_its_triggers_for_as_long_as_it_says() {
        let skill = |more: &str| {
            let text =
                format!("---\nname: tea\ndescription: Tea.\ntriggers: [Green Tea]\n{more}---\nPour.\n");
            Skill::parse(text.as_bytes(), "SKILL.md").unwrap()
        };
        let history: Vec<Value> =
            ["green tea?", "a", "b"].iter().map(|text| json!({ "role": "user", "content": text })).collect();
        assert!(is_meant(&skill(""), "some GREEN tea please", &[]));
        assert!(is_meant(&skill(""), "and now?", &history));
        assert!(!is_meant(&skill("max_turns: 2\n"), "and now?", &history));
        assert!(!is_meant(&skill(""), "coffee", &[]));
        assert!(!is_meant(&skill("enabled: false\n"), "green tea", &[]));
        assert!(!is_meant(&skill("platform: [windows]\n"), "green tea", &[]));
    }
}
