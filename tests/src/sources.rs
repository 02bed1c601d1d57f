//! Agent files to write: the shortest ones that are complete.

/// A Python file with one agent whose `perform` has this body.
#[must_use]
pub fn python_agent(name: &str, perform: &str) -> String {
    python_file(name, "", perform)
}

/// The same with some lines at the top of the file.
#[must_use]
pub fn python_file(name: &str, top: &str, perform: &str) -> String {
    let class = class_name(name);
    let body = perform.replace('\n', "\n        ");
    format!(
        r#"import json, os, sys, time
from agents.basic_agent import BasicAgent
{top}
class {class}(BasicAgent):
    def __init__(self):
        self.name = "{name}"
        self.metadata = {{
            "name": self.name,
            "description": "Does {name}.",
            "parameters": {{"type": "object", "properties": {{}}}},
        }}
        super().__init__(self.name, self.metadata)

    def perform(self, **kwargs):
        {body}
"#
    )
}

/// A TypeScript file with one agent whose `perform(kwargs)` has this body.
#[must_use]
pub fn typescript_agent(name: &str, top: &str, perform: &str) -> String {
    let class = class_name(name);
    let body = perform.replace('\n', "\n    ");
    format!(
        r#"import {{ BasicAgent }} from './BasicAgent.js';
{top}
export class {class} extends BasicAgent {{
  constructor() {{
    super('{name}', {{
      name: '{name}',
      description: 'Does {name}.',
      parameters: {{ type: 'object', properties: {{}} }},
    }});
  }}

  async perform(kwargs: Record<string, unknown>): Promise<unknown> {{
    {body}
  }}
}}
"#
    )
}

fn class_name(name: &str) -> String {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    format!("{letters}Agent")
}
