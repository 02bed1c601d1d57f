// Native apps in the web UI, on a host that runs their real processes: how they stand, what they print, what they are
// asked, what can be set of them, their accounts elsewhere, and versions that ask for more.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { answers, folder, offer, trust } from './programs.mjs';
import { provider } from './provider.mjs';
import { begin, go } from './scene.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const seen = (locator) => locator.first().waitFor();
const MASK = '••••••••';
const BOARD = {
  id: 'com.example.board',
  name: 'Board',
  version: '1.0.0',
  description: 'Keeps a board of notes.',
  provides: ['tool:echo', 'ui'],
  permissions: ['oauth:harbor'],
  oauth: [{ provider: 'harbor', scopes: ['mail.read', 'mail.send'] }],
  settings: [
    { key: 'name', title: 'Name', required: true },
    { key: 'key', title: 'Key', type: 'password' },
    { key: 'tone', title: 'Tone', type: 'select', options: [{ label: 'Dry', value: 'dry' }, { label: 'Wet', value: 'wet' }], default: 'dry' },
    { key: 'daily', title: 'Write every day', type: 'toggle' },
  ],
};
/** A page that tells its app something and shows what came back. */
const PAGE = {
  'ui/index.html': '<!doctype html><title>Board</title><h1>Board</h1><p id="said"></p><script src="assets/board.js"></script>',
  'ui/assets/board.js': `
    const asked = fetch('../api/notes?of=today', { method: 'PUT', headers: { 'Content-Type': 'application/json', 'X-Own': '1' }, body: '{"text":"hello"}' });
    asked.then((answer) => answer.text()).then((text) => (said.textContent = text));`,
};
const HERE = `#/store/installed/${BOARD.id}`;

let scene;
let harbor;
before(async () => {
  harbor = await provider();
  scene = await begin({ settings: harbor.settings });
  trust(scene);
  scene.roost('sideload', folder(scene, BOARD, PAGE));
  scene.roost('new', 'app', 'word_count', '--publisher', '@ada', '--summary', 'Counts words.', '--name', 'Word count');
  scene.roost('install', `${scene.folder}/word_count`, '--yes');
});
afterEach(() => scene?.rest());
after(async () => {
  await scene?.end();
  harbor?.close();
});

/** What the app was told last. */
const told = async () => JSON.parse((await answers(scene, BOARD.id, 'settings')).text).settings;

/** The app's page with one tab of its program. */
async function program(page, tab) {
  await go(page, HERE, 'Board');
  const panel = page.getByRole('region', { name: 'Program' });
  if (tab) await panel.getByRole('tab', { name: tab }).click();
  return panel;
}

test('a program stands beside the other apps with what its process does', async () => {
  const page = await scene.page();
  await go(page, '#/store/installed', 'Store');
  const row = (name) => page.getByRole('listitem').filter({ has: page.getByText(name, { exact: true }) });
  await seen(row('Board').getByText('answers', { exact: true }));
  await seen(row('Word count').getByText('answers', { exact: true }));
  await row('Board').getByRole('link').click();
  const panel = page.getByRole('region', { name: 'Program' });
  await seen(panel.getByText('running', { exact: true }));
  await seen(panel.getByText('nobody: it was sideloaded'));
  await seen(panel.getByText('tool:echo'));
  const { process } = scene.roost('apps').apps.find((app) => app.id === BOARD.id);
  await seen(panel.getByText(`process ${process.pid}`));
  // One that is stopped says so wherever it is shown, and one that died is started again.
  await panel.getByRole('button', { name: 'Stop' }).click();
  await seen(panel.getByText('stopped', { exact: true }));
  assert.equal(await page.getByText('answers', { exact: true }).count(), 0);
  await go(page, '#/store/installed', 'Store');
  await seen(row('Board').getByText('stopped', { exact: true }));
  await go(page, HERE, 'Board');
  await panel.getByRole('button', { name: 'Start' }).click();
  await seen(panel.getByText('running', { exact: true }));
  assert.equal((await answers(scene, BOARD.id, 'die')).status, 502);
  await seen(panel.getByText('1 restart lately'));
  await seen(panel.getByText('running', { exact: true }));
  assert.deepEqual(page.problems, []);
});

test('what a program prints is there by stream, and comes while somebody looks', async () => {
  const page = await scene.page();
  const panel = await program(page, 'Log');
  const log = panel.getByRole('region', { name: 'What it prints' });
  await seen(log.getByText('Nothing was printed yet.'));
  await panel.getByRole('button', { name: 'Errors' }).click();
  await seen(log.getByText('[Board] listening on'));
  const starts = async () => (await log.innerText()).split('listening on').length;
  const before = await starts();
  await panel.getByRole('button', { name: 'Restart' }).click();
  await seen(page.getByText('It was started again.'));
  await page.waitForFunction(
    ({ before }) => document.querySelector('pre[aria-label="What it prints"]').innerText.split('listening on').length > before,
    { before },
  );
  assert.deepEqual(page.problems, []);
});

test('what is set reaches the program at once, and a secret goes in and never comes out', async () => {
  const page = await scene.page();
  const panel = await program(page, 'Settings');
  assert.equal(await panel.getByRole('button', { name: 'Save' }).isDisabled(), true, 'there is nothing to save yet');
  await seen(panel.getByText('needed'));
  await panel.getByLabel('Name').fill('Ada');
  await panel.getByRole('textbox', { name: 'Key' }).fill('tr0ub4dor');
  await panel.getByLabel('Tone').selectOption('Wet');
  await panel.getByLabel('Write every day').check();
  await panel.getByRole('button', { name: 'Save' }).click();
  await seen(page.getByText('Saved, and the app was told.'));
  assert.deepEqual(await told(), { name: 'Ada', key: 'tr0ub4dor', tone: 'wet', daily: 'true' });
  await page.reload();
  await panel.getByRole('tab', { name: 'Settings' }).click();
  assert.equal(await panel.getByLabel('Name').inputValue(), 'Ada');
  // The mask is no value: what is typed takes its place, and is not added to it.
  const key = panel.getByRole('textbox', { name: 'Key' });
  assert.deepEqual([await key.inputValue(), await key.getAttribute('placeholder'), await key.getAttribute('type')], ['', MASK, 'password']);
  assert.equal((await page.content()).includes('tr0ub4dor'), false);
  await panel.getByLabel('Name').fill('Grace');
  await panel.getByRole('button', { name: 'Save' }).click();
  await page.waitForFunction(() => [...document.querySelectorAll('form button')].some((one) => one.textContent === 'Save' && one.disabled));
  assert.deepEqual(await told(), { name: 'Grace', key: 'tr0ub4dor', tone: 'wet', daily: 'true' });
  await panel.getByRole('button', { name: 'Forget Key' }).click();
  await panel.getByRole('button', { name: 'Forget Key' }).waitFor({ state: 'detached' });
  assert.deepEqual(await told(), { name: 'Grace', tone: 'wet', daily: 'true' });
  assert.deepEqual(page.problems, []);
});

test('a call appears with its size, its time and how it ended, and without what was said', async () => {
  const page = await scene.page();
  const panel = await program(page, 'Calls');
  const calls = panel.getByRole('region', { name: 'Latest calls' });
  await seen(calls);
  scene.roost('call', 'echo', 'text=nobody-sees-this');
  const answered = calls.getByRole('row').filter({ hasText: 'ToolService/Execute' }).filter({ hasText: 'answered' });
  await seen(answered);
  const cells = await answered.first().getByRole('cell').allInnerTexts();
  assert.match(cells[3], /^\d+ B$/);
  assert.match(cells[4], /^[\d.]+ (µs|ms|s)$/);
  assert.equal(cells[5], 'ok');
  assert.equal((await page.content()).includes('nobody-sees-this'), false);
  // Asked all the time, and shown to whoever wants it.
  assert.equal(await calls.getByText('HealthCheck', { exact: false }).count(), 0);
  await panel.getByLabel('Show health checks too').check();
  await seen(calls.getByText('HealthCheck', { exact: false }));
  assert.deepEqual(page.problems, []);
});

test('an account is connected in a tab of its own, the program is told its token, and it is taken back', async () => {
  const page = await scene.page();
  const panel = await program(page, 'Accounts');
  await seen(panel.getByText('mail.read, mail.send'));
  const signIn = page.context().waitForEvent('page');
  await panel.getByRole('button', { name: 'Connect' }).click();
  const tab = await signIn;
  await seen(panel.getByText('connected', { exact: true }));
  if (!tab.isClosed()) await seen(tab.getByText('The account is connected.'));
  const [asked, exchanged] = harbor.asked;
  assert.deepEqual([asked.client_id, asked.scope, exchanged.code], ['roost', 'mail.read mail.send', 'let-in']);
  assert.equal((await told())['oauth:harbor:access_token'], 'at-harbor');
  for (const token of ['at-harbor', 'rt-harbor']) assert.equal((await page.content()).includes(token), false);
  await panel.getByRole('button', { name: 'Disconnect' }).click();
  await seen(panel.getByRole('button', { name: 'Connect', exact: true }));
  assert.equal((await told())['oauth:harbor:access_token'], '');
  assert.deepEqual(page.problems, []);
});

test('a signed version that asks for more waits with what is new, and is declined or approved', async () => {
  const scribe = { id: 'com.example.scribe', name: 'Scribe', version: '1.0.0', permissions: ['user:id'] };
  scene.roost('install', offer(scene, scribe), '--asked');
  offer(scene, { ...scribe, version: '2.0.0', provides: ['tool:echo', 'hooks'], permissions: ['hook:memory.pre_store', 'user:id'], oauth: [{ provider: 'harbor', scopes: ['mail.read'] }] });
  const page = await scene.page();
  await go(page, `#/store/installed/${scribe.id}`, 'Scribe');
  await seen(page.getByRole('region', { name: 'Program' }).getByText('ada', { exact: false }));
  const waits = page.getByRole('region', { name: 'Version 2.0.0 waits' });
  const version = () => scene.roost('apps').apps.find((app) => app.id === scribe.id).version;
  await page.getByRole('button', { name: 'Update' }).click();
  await seen(waits.getByText('hooks:memory.pre_store', { exact: false }));
  await seen(waits.getByText('harbor (mail.read)', { exact: false }));
  assert.equal(version(), '1.0.0', 'nothing changes before somebody says so');
  await waits.getByRole('button', { name: 'Keep 1.0.0' }).click();
  await seen(page.getByText('Scribe stays as it is.'));
  await waits.waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Update' }).click();
  await waits.getByRole('button', { name: /take 2\.0\.0/ }).click();
  await seen(page.getByText('is 2.0.0 now', { exact: false }));
  await seen(page.getByRole('region', { name: 'Program' }).getByText('running', { exact: true }));
  assert.equal(version(), '2.0.0');
  await page.getByRole('button', { name: 'Roll back' }).click();
  await seen(page.getByText('is 1.0.0 again', { exact: false }));
  assert.equal(version(), '1.0.0');
  assert.deepEqual(page.problems, []);
});

test('installing shows what the host does, and what came of it', async () => {
  const lamp = { id: 'com.example.lamp', name: 'never listens', version: '1.0.0', startup_timeout: 3 };
  const page = await scene.page();
  const bring = async (manifest) => {
    const source = offer(scene, manifest);
    await go(page, '#/store', 'Store');
    await page.getByRole('button', { name: 'Install from…' }).click();
    await page.getByLabel('Path or address').fill(source);
    await page.getByRole('button', { name: 'Look at it' }).click();
    const panel = page.getByRole('dialog').getByRole('region', { name: /^Installing/ });
    const answered = page.waitForResponse((response) => response.url().endsWith('/v1/app-installs'));
    await panel.getByRole('button', { name: 'Install' }).click();
    return { panel, answered };
  };
  // The host waits for it to listen, and so does the page, at this step and at no later one.
  const refused = await bring(lamp);
  const now = refused.panel.locator('[aria-current=step]');
  await seen(now.filter({ hasText: 'Loading it in its sandbox until it answers' }));
  await seen(refused.panel.getByText('com.example.lamp was not installed', { exact: false }));
  await seen(refused.panel.getByText('Nothing of it stays.'));
  assert.equal(scene.roost('apps').apps.some((app) => app.id === lamp.id), false);
  await page.keyboard.press('Escape');
  const done = await bring({ ...lamp, name: 'tool lamp', version: '1.0.1', provides: ['tool:lamp'] });
  await seen(done.panel.getByText('tool lamp 1.0.1 is installed.'));
  assert.equal(await done.panel.locator('li.done').count(), 4);
  assert.equal(await done.panel.locator('[aria-current=step]').count(), 0);
  const told = (await (await done.answered).text()).match(/(?<=^data: ).*$/gm).map((line) => JSON.parse(line));
  assert.deepEqual(told.map((one) => one.step ?? Object.keys(one)[0]), ['waiting', 'checking', 'trying', 'placing', 'serving', 'installed']);
  assert.equal(scene.roost('apps').apps.find((app) => app.id === lamp.id).state, 'enabled');
  assert.deepEqual(page.problems, []);
});

for (const mode of ['origin', 'opaque']) {
  test(`the page of a native app reaches its app and nothing else (${mode})`, async (story) => {
    const heard = [];
    const outside = createServer((request, response) => (heard.push(request.url), response.writeHead(200, { 'Access-Control-Allow-Origin': '*' }).end()));
    await new Promise((done) => outside.listen(0, '127.0.0.1', done));
    story.after(() => outside.close());
    const page = await scene.page();
    // A browser that resolves no such names: the page is then served without an origin.
    if (mode === 'opaque') await page.route(/\/\/probe\.localhost/, (route) => route.abort());
    await go(page, HERE, 'Board');
    await page.getByRole('button', { name: 'Mount its page' }).click();
    const pane = page.getByRole('article', { name: 'Board', exact: true });
    const element = pane.locator('iframe');
    await element.waitFor();
    const frame = await (await element.elementHandle()).contentFrame();
    await frame.waitForFunction(() => document.getElementById('said')?.textContent);
    const said = JSON.parse(await frame.locator('#said').textContent());
    assert.deepEqual([said.method, said.path, said.query, said.body, said.headers['x-own']], ['PUT', '/notes', 'of=today', '{"text":"hello"}', '1']);
    assert.deepEqual(Object.keys(said.headers).filter((name) => /^(authorization|cookie|host)$/i.test(name)), []);
    const place = new URL(frame.url());
    const isOpaque = (await frame.evaluate(() => self.origin)) === 'null';
    assert.deepEqual([isOpaque, place.pathname.startsWith('/mounted/'), place.hostname.endsWith('.localhost')], mode === 'opaque' ? [true, true, false] : [false, false, true]);
    const tried = await frame.evaluate(async ({ host, other, outside }) => {
      const could = [];
      const reach = (name, address, init) => fetch(address, init).then(() => could.push(name), () => undefined);
      const touch = (name, use) => {
        try {
          if (use() !== undefined) could.push(name);
        } catch {
          // As it should be.
        }
      };
      await reach('the list of agents', `${host}/v1/agents`);
      await reach('the list of agents, unseen', `${host}/v1/agents`, { mode: 'no-cors' });
      await reach('secrets', `${host}/secrets`);
      await reach('its app as a program does', `${host}/api/v1/apps/com.example.board/api/x`);
      await reach('another app', `${host}/api/v1/apps/${other}/api/x`);
      await reach('another computer', outside);
      await reach('another computer, unseen', outside, { mode: 'no-cors', method: 'POST', body: 'x' });
      touch('the page around it', () => parent.document.title);
      touch('what that keeps', () => parent.localStorage.length);
      touch('the address of the page around it', () => top.location.href);
      navigator.sendBeacon(outside, 'x');
      new Image().src = outside;
      return could;
    }, { host: scene.address, other: 'word_count', outside: `http://127.0.0.1:${outside.address().port}/` });
    assert.deepEqual(tried, []);
    // What is below the page's own address is its files and its app, for whoever knows it, and for no other page.
    const top = `${scene.address}${place.pathname.split('/apps/')[0]}`;
    const as = mode === 'opaque' ? {} : { Host: place.host };
    const status = async (path, headers = {}) => (await asked(`${top}${path}`, { ...as, ...headers })).statusCode;
    for (const path of ['/v1/agents', '/secrets', '/apps/word_count/index.html', '/api/v1/apps/word_count/api/x', '/apps/com.example.board/manifest.json']) assert.equal(await status(path), 404, path);
    assert.equal(await status('/apps/com.example.board/api/x', { Origin: 'http://elsewhere.example' }), 403);
    await page.getByRole('button', { name: 'Unmount Board' }).click();
    await element.waitFor({ state: 'detached' });
    assert.equal(await status('/apps/com.example.board/ui/'), 404, 'only mounted pages are served');
    assert.deepEqual(heard, []);
  });
}

/** One request as no browser sends it: to any host name. */
const asked = (address, headers) =>
  new Promise((done, failed) => {
    get(address, { headers }, (answer) => done(answer.resume())).on('error', failed);
  });

for (const [width, dark] of [[1280, true], [390, false]]) {
  test(`axe finds nothing serious about programs, and nothing is too wide, ${width} px`, async () => {
    const page = await scene.page({ width, height: 844, dark, bypassCSP: true });
    for (const tab of ['About', 'Settings', 'Accounts', 'Log', 'Calls']) {
      const panel = await program(page, tab);
      await panel.locator('.spinner').waitFor({ state: 'detached' });
      await page.addScriptTag({ content: AXE });
      const found = await page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
        return violations.filter((one) => /serious|critical/.test(one.impact)).map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
      });
      assert.deepEqual(found, [], tab);
      const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth) - innerWidth);
      assert.ok(wide <= 0, `${tab} is ${wide} pixels too wide`);
    }
  });
}
