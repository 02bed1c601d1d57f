//! Evidence in TypeScript and JavaScript: what it leads to, and what is none.

use super::with_lines;
use roost_protocol::Language;

fn check(text: &str, expected: &[&str]) {
    super::check(Language::TypeScript, text, expected);
}

#[test]
fn variables_are_asked_for_however_they_are_read() {
    check("const x = process.env.A ?? process.env['B'] ?? process.env?.C", &["env:A", "env:B", "env:C"]);
    check("const KEY = 'A';\nconst x = process.env[KEY]", &["env:A"]);
    check("const { A, B: b, C = 'x' } = process.env;", &["env:A", "env:B", "env:C"]);
    check("Deno.env.get('A'); Deno.env.has(\"B\"); Bun.env.C", &["env:A", "env:B", "env:C"]);
    check("if ('A' in process.env) {}", &["env:A"]);
    check("const x = `${process.env.A}`", &["env:A"]);
    check("process.env.A = '1'; process.env.B == '1'", &["env:B"]);
    check("process.env.PATH; process.env.é; process.env[name]", &[]);
}

#[test]
fn computers_are_found_in_addresses() {
    check("fetch('https://a.example/x')", &["network:a.example"]);
    check("fetch(`https://a.example:8443/${x}`)", &["network:a.example:8443"]);
    check("fetch(`https://${host}/x`)", &["network:*"]);
    check("const HOST = 'a.example';\nfetch(`https://${HOST}/x`)", &["network:a.example"]);
    check("const HOST = 'a.example'\nfetch('https://' + HOST + '/x')", &["network:a.example"]);
    check("fetch('https://api.' + region + '.example')", &["network:*"]);
    check("// https://a.example\n/* https://b.example */\nconst r = /https:\\/\\/c.example/", &[]);
    check(
        "const x = { description: 'https://a.example' + 'https://b.example', $id: 'https://c.example', '$schema': 'https://d.example' }",
        &[],
    );
    check("const x = a / b; const y = 'https://a.example' // '", &["network:a.example"]);
    check("const x = 'it\\'s https://a.example'", &["network:a.example"]);
}

#[test]
fn network_modules_ask_for_everything_only_when_no_computer_is_named() {
    check("import net from 'node:net'", &["network:*"]);
    check("const https = require(\"https\")", &["network:*"]);
    check("const x = await import('undici')", &["network:*"]);
    check("import OpenAI from 'openai'", &["network:api.openai.com"]);
    check("import { Octokit } from '@octokit/rest'", &["network:api.github.com"]);
    check("new WebSocket(url)", &["network:*"]);
    check("import net from 'net'\nnet.connect(5432, 'a.example')", &["network:a.example:5432"]);
    check(
        "import https from 'https'\nhttps.request({ port: 8443, hostname: 'a.example', path: '/' })",
        &["network:a.example:8443"],
    );
    check("import https from 'https'\nhttps.request({ hostname: 'a.example', port: p })", &["network:*"]);
    check("class A { async fetch(x) {} }\nthis.fetch(x); cache.fetch(y)", &[]);
    check("const x = { host: 'a.example' }", &[]);
}

#[test]
fn programs_are_asked_for_when_they_can_be_started() {
    check("import { exec } from 'child_process'", &["subprocess"]);
    check("const cp = require('node:child_process')", &["subprocess"]);
    check("new Deno.Command('ls')", &["subprocess"]);
    check("Bun.spawn(['ls'])", &["subprocess"]);
}

#[test]
fn places_are_asked_for_where_files_are_used() {
    check("path.join(os.homedir(), '.agent', 'x')", &["files:read:~/.agent"]);
    check("const h = homedir();\nconst d = join(h, '.agent');\nfs.mkdirSync(d)", &["files:write:~/.agent"]);
    check("const d = `${os.homedir()}/.agent/x`", &["files:read:~/.agent"]);
    check("const d = os.homedir() + '/.agent'", &["files:read:~/.agent"]);
    check(
        "path.join(process.env.HOME!, '.agent'); path.join(process.env.HOME || '', 'notes')",
        &["files:read:~/.agent", "files:read:~/notes"],
    );
    check("const d = '~/.agent/x'", &["files:read:~/.agent"]);
    check("import x from '~/components/x'", &[]);
    check("const h = os.homedir()", &["files:read:~"]);
    check("fs.readFileSync('/srv/a.json')", &["files:read:/srv/a.json"]);
    check("const P = '/srv/a.json';\nawait writeFile(P, 'x')", &["files:write:/srv"]);
    check("Deno.readTextFile('/etc/hosts'); fs.readFile('/tmp/x'); get('/api')", &["files:read:/etc/hosts"]);
}

#[test]
fn agents_and_the_model_are_asked_for() {
    check("import { BasicAgent } from './BasicAgent.js'", &[]);
    check("import { WeatherAgent } from './WeatherAgent.js'", &["agents:read"]);
    check("const x = process.env.AGENTS_PATH", &["agents:read"]);
    check(
        "const here = path.dirname(fileURLToPath(import.meta.url));\nfs.readdirSync(here)",
        &["agents:read"],
    );
    check("fs.readdirSync(__dirname); fs.writeFileSync(x, y)", &["agents:write"]);
    check("await roost.callModel([])", &["model"]);
}

#[test]
fn a_whole_agent_asks_for_what_it_uses_and_where() {
    assert_eq!(
        with_lines(Language::TypeScript, include_str!("../fixtures/BackupAgent.ts")),
        [
            "3 subprocess",
            "8 agents:read",
            "11 network:backup.example.com:8443",
            "13 env:AWS_PROFILE",
            "13 env:AWS_REGION",
            "23 env:BACKUP_KEY",
            "23 env:BACKUP_FALLBACK",
            "25 files:write:~/.backup",
            "30 files:write:/etc/hosts",
            "32 network:status.example.com",
        ]
    );
}
