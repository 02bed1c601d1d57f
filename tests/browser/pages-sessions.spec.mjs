// Several frames of one page, answers that come too late, and what the record says of pages with an agent behind them.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { after, before, test } from 'node:test';
import { scene } from './pages-scene.mjs';

const SDK = '<script src="../_sdk/reploid-app-sdk.js"></script>';
const ECHO = `import time
from agents.basic_agent import BasicAgent


class Echo(BasicAgent):
    def __init__(self):
        self.name = "Echo"
        self.metadata = {"name": "Echo", "description": "Says it again.", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}
        super().__init__(self.name, self.metadata)

    def perform(self, **kwargs):
        return "echo: " + str(kwargs.get("text", ""))
`;

let at;
before(async () => {
  at = await scene({ 'echo_agent.py': ECHO });
  await at.write('docs/a.md', 'alpha');
});
after(() => at?.close());

const roost = (...words) => JSON.parse(execFileSync(at.program.spawnfile, ['--home', at.home, ...words, '--json'], { encoding: 'utf8' }));

test('two frames that claim one page are two sessions, and each hears only its own answers', async () => {
  await at.make({ id: 'twin', permissions: { vfs: { read: ['/docs/*'] } } }, {
    'index.html': `<!doctype html><head>${SDK}</head><script>
      window.heard = [];
      addEventListener('message', (event) => window.heard.push(event.data));
      window.ask = (id) => parent.postMessage({ type: 'REPLOID_API_REQUEST', id, method: 'vfs.read', args: ['/docs/a.md'] }, '*');
    </script>`,
  });
  const page = await at.open();
  const one = await page.evaluate(() => window.mountApp('twin', 'origin'));
  const first = await page.appFrame('twin');
  const other = await page.evaluate(() => window.mountApp('twin', 'origin'));
  const second = await page.appFrame('twin');
  assert.notEqual(one.session, other.session);
  for (const frame of [first, second]) await frame.waitForFunction(() => window.ask);
  // The same id from both: whoever asked is known from the frame, not from what the message says.
  await first.evaluate(() => window.ask('same'));
  await first.waitForFunction(() => window.heard.some((one) => one.id === 'same'));
  assert.equal(await second.evaluate(() => window.heard.some((one) => one.id === 'same')), false);
  const sessions = (await at.api('GET', '/v1/pages/sessions')).body.sessions;
  assert.equal(sessions.filter((session) => session.page.id === 'twin').length, 2);
  await page.evaluate(() => window.unmountApp('twin'));
  assert.equal((await at.api('GET', `/v1/pages/sessions/${other.session}`)).status, 404);
  assert.equal((await at.api('GET', `/v1/pages/sessions/${one.session}`)).status, 200, 'the other one goes on');
});

test('an answer that comes after unmounting reaches nobody', async () => {
  await at.make({ id: 'leaving', permissions: { vfs: { read: ['/docs/*'] } } }, { 'index.html': `<!doctype html><head>${SDK}</head>` });
  const page = await at.open();
  const problems = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  // The answer is held back until the page is gone.
  let release;
  const gone = new Promise((done) => (release = done));
  let isAsked;
  const asked = new Promise((done) => (isAsked = done));
  await page.route('**/v1/pages/sessions/*/call', async (route) => {
    isAsked();
    await gone;
    await route.continue().catch(() => {});
  });
  await page.evaluate(() => window.mountApp('leaving', 'origin'));
  const frame = await page.appFrame('leaving');
  await frame.waitForFunction(() => window.reploid?._port);
  frame.evaluate(() => reploid.vfs.read('/docs/a.md')).catch(() => {});
  await asked;
  const late = await page.evaluate(async () => {
    const replies = [];
    const port = window.mounted.leaving._port;
    const send = port.postMessage.bind(port);
    port.postMessage = (message) => (replies.push(message), send(message));
    await window.unmountApp('leaving');
    window.late = replies;
    return window.mounted.leaving.state;
  });
  assert.equal(late, 'closed');
  release();
  await at.until(async () => (await at.api('GET', '/v1/pages/sessions')).body.sessions.every((session) => session.page.id !== 'leaving'));
  assert.deepEqual(await page.evaluate(() => window.late), []);
  assert.deepEqual(problems, []);
});

test('asking for the cartridge is recorded, and so is every call of the agent behind the page', async () => {
  await at.make({ id: 'recorded', agent: 'Echo', permissions: { agents: ['Echo'] } }, {
    'index.html': `<!doctype html><head><script>
      window.heard = [];
      addEventListener('message', (event) => window.heard.push(event.data));
    </script></head>`,
  });
  const page = await at.open();
  await page.evaluate(() => window.mountApp('recorded', 'origin'));
  const frame = await page.appFrame('recorded');
  await frame.waitForFunction(() => window.heard.some((one) => one.type === 'rapp:cartridge'));
  await frame.evaluate(() => parent.postMessage({ type: 'rapp:invoke', id: 'i', args: { text: 'do not keep me' } }, '*'));
  await frame.waitForFunction(() => window.heard.some((one) => one.id === 'i' && one.result === 'echo: do not keep me'));
  await page.evaluate(() => window.unmountApp('recorded'));
  await at.until(() => {
    const { rows } = roost('audit', '--app', 'page:recorded', '--limit', '100');
    return rows.some((row) => row.detail === 'rapp:get_cartridge' && row.decision === 'allowed') && rows.some((row) => row.detail === 'rapp:invoke' && row.right === 'agents:call:Echo');
  });
  assert.ok(!JSON.stringify(roost('audit', '--limit', '500')).includes('do not keep me'));
});
