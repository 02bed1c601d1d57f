// A home with a running host, a scripted model and a browser: what every story here needs, and what ends it all.
import { chromium } from 'playwright-core';
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = resolve(fileURLToPath(import.meta.url), '../../..');
const TARGET = resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target');
/** Where the programs are that a story runs: as they are tested, or as they are measured. */
export const PROGRAMS = join(TARGET, process.env.ROOST_PROFILE ?? 'debug');

/** How Debian's browser runs on a machine without a screen. */
const BROWSER_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** How long a story waits for something to appear: a machine that also builds something is slow, not wrong. */
const PATIENCE_MS = Number(process.env.ROOST_PATIENCE_MS ?? 45_000);

/** Text that would run, if anything here took text for markup. */
export const HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>';

const AGENTS = {
  'greeter_agent.py': agent(
    'Greeter',
    'Greets somebody, politely.',
    `{"type": "object", "properties": {
        "who": {"type": "string", "description": "Whom to greet."},
        "times": {"type": "integer", "description": "How often.", "minimum": 1},
        "tone": {"enum": ["warm", "formal"], "description": "How it should sound."},
        "loud": {"type": "boolean", "description": "In capital letters."}}, "required": ["who"]}`,
    `text = " ".join([f"Hello, {kwargs['who']}!"] * int(kwargs.get("times", 1)))
        return text.upper() if kwargs.get("loud") else text`,
  ),
  'weather_agent.py': agent(
    'Weather',
    'Tells the weather of a city.',
    `{"type": "object", "properties": {"city": {"type": "string"}}}`,
    `import os, urllib.request
        key = os.environ.get("WEATHER_KEY", "")
        return urllib.request.urlopen(f"https://api.weather.example/now?key={key}").read().decode()`,
  ),
  'notes_agent.py': agent(
    'Notes',
    'Keeps notes in its folder.',
    `{"type": "object", "properties": {"text": {"type": "string"}}}`,
    `from utils.workspace import write_text
        write_text("notes.md", kwargs.get("text", ""))
        return "kept"`,
  ),
  'asking_agent.py': agent(
    'Asking',
    'Needs a file from a person.',
    `{"type": "object", "properties": {}}`,
    `from utils.workspace import request_files, read_text
        found = request_files("Which numbers?", ["*.csv"])
        return read_text(found["names"][0]) if found.get("names") else "no file yet"`,
  ),
  'hostile_agent.py': agent('Hostile', HOSTILE, `{"type": "object", "properties": {"x": {"type": "string", "description": ${JSON.stringify(HOSTILE)}}}}`, `return ${JSON.stringify(HOSTILE)}`),
  'broken_agent.py': 'x = (\n',
};

export function agent(name, description, parameters, body) {
  return `from agents.basic_agent import BasicAgent


class ${name}Agent(BasicAgent):
    def __init__(self):
        self.name = "${name}"
        self.metadata = {
            "name": self.name,
            "description": ${JSON.stringify(description)},
            "parameters": ${parameters},
        }
        super().__init__(self.name, self.metadata)

    def perform(self, **kwargs):
        ${body}
`;
}

/** Everything that runs, and a page that is signed in. */
export async function begin(options = {}) {
  const scene = new Scene();
  try {
    await scene.start(options);
  } catch (error) {
    await scene.end();
    throw error;
  }
  return scene;
}

class Scene {
  processes = [];
  agent = agent;

  /** `model` is the address of one that answers, or whether the scripted one does; `settings` is the text of roost.toml,
   * `environment` what the host is told besides. */
  async start({ model = true, browser = true, agents = AGENTS, settings = '', environment = {} }) {
    mkdirSync(join(TARGET, 'tmp'), { recursive: true });
    this.folder = mkdtempSync(join(TARGET, 'tmp', 'browser-'));
    this.home = join(this.folder, 'home');
    mkdirSync(join(this.home, 'agents'), { recursive: true });
    for (const [name, source] of Object.entries(agents)) writeFileSync(join(this.home, 'agents', name), source);
    if (settings) writeFileSync(join(this.home, 'roost.toml'), settings);
    // Nothing of the machine's own settings: no key, no account, no server that happens to run.
    this.environment = { PATH: process.env.PATH, HOME: this.folder, LANG: 'C.UTF-8', ROOST_HOME: this.home, ...environment };
    if (model) {
      const base = typeof model === 'string' ? model : await this.program('scripted_model', [], 'pipe');
      Object.assign(this.environment, { OPENAI_BASE_URL: base, OPENAI_API_KEY: 'test', OPENAI_MODEL: typeof model === 'string' ? 'sonata-3' : 'scripted' });
    }
    const line = await this.program('roost', ['up', '--port', '0'], 'ignore');
    this.address = line.replace('listening on ', '');
    if (!browser) return;
    this.browser = await chromium.launch({ executablePath: chromiumPath(), headless: true, args: BROWSER_FLAGS });
  }

  /** Starts a program and gives its first line. */
  async program(name, words, input) {
    const child = spawn(join(PROGRAMS, name), words, { env: this.environment, stdio: [input, 'pipe', 'ignore'] });
    this.processes.push(child);
    const [line] = await Promise.race([
      once(createInterface(child.stdout), 'line'),
      once(child, 'exit').then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`))),
    ]);
    return line;
  }

  /** What `roost … --json` prints. */
  roost(...words) {
    return JSON.parse(execFileSync(join(PROGRAMS, 'roost'), [...words, '--json'], { env: this.environment, encoding: 'utf8', cwd: this.folder }));
  }

  /** A browser of its own, with nothing in it. */
  async page({ signedIn = true, toured = true, width = 1280, height = 800, dark = false, ...more } = {}) {
    const context = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? 'dark' : 'light',
      reducedMotion: 'reduce',
      ...more,
    });
    context.setDefaultTimeout(PATIENCE_MS);
    if (process.env.ROOST_WEB_DIST) await newer(context, this.address, resolve(process.env.ROOST_WEB_DIST));
    const page = await context.newPage();
    page.problems = [];
    page.on('pageerror', (error) => page.problems.push(String(error)));
    page.on('console', (message) => {
      const isRefusal = message.text().includes('the server responded with a status');
      if (message.type() === 'error' && !isRefusal) page.problems.push(message.text());
    });
    // Frames of pages get this script too, and some of them have no storage.
    if (toured) await page.addInitScript(() => window === top && localStorage.setItem('roost.toured', 'yes'));
    await page.goto(signedIn ? this.roost('open').url : this.address);
    await page.getByRole('navigation', { name: 'Views' }).waitFor();
    if (signedIn) await page.waitForFunction(() => localStorage.getItem('roost.session') !== null);
    return page;
  }

  /** Closes every page of the story that ended: an open page goes on asking the host. */
  async rest() {
    await Promise.all(this.browser?.contexts().map((context) => context.close()) ?? []);
  }

  async end() {
    await this.browser?.close();
    for (const child of this.processes.reverse()) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const ended = once(child, 'exit');
      child.stdin?.end();
      child.kill('SIGTERM');
      await ended;
    }
    if (this.folder) rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Shows a page that was built after the host: with the host's headers, so that its policy holds as ever. */
async function newer(context, address, folder) {
  await context.route(`${address}/**`, async (route) => {
    const { pathname } = new URL(route.request().url());
    const path = join(folder, pathname === '/' ? 'index.html' : pathname.replace('/ui/', ''));
    if (!(pathname === '/' || pathname.startsWith('/ui/')) || !existsSync(path)) return route.continue();
    const { headers } = pathname === '/' ? { headers: (await route.fetch()).headers() } : { headers: {} };
    delete headers['content-encoding'];
    await route.fulfill({ path, headers: { ...headers, 'content-type': TYPES[path.split('.').pop()] } });
  });
}

const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' };

function chromiumPath() {
  const names = ['chromium', 'chromium-browser', 'google-chrome'];
  for (const name of names) {
    try {
      return execFileSync('which', [name], { encoding: 'utf8' }).trim();
    } catch {
      // The next name may be there.
    }
  }
  throw new Error(`none of ${names.join(', ')} was found; scripts/setup.sh test installs one`);
}

/** Goes to a view and waits until it is there. */
export async function go(page, address, heading) {
  await page.evaluate((to) => (location.hash = to), address);
  if (heading) await page.getByRole('heading', { name: heading, exact: true }).first().waitFor();
}
