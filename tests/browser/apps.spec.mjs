// The Apps view: pages that are made, imported, mounted beside each other, asked about, stopped and taken away.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { begin, go } from './scene.mjs';
import { pageZip } from './zip.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SDK = '<script src="../_sdk/reploid-app-sdk.js"></script>';
const seen = (locator) => locator.first().waitFor();
const card = (page, name) => page.getByRole('article', { name, exact: true });

let scene;
before(async () => (scene = await begin()));
afterEach(() => scene?.rest());
after(() => scene?.end());

/** Makes a page of the workspace, as `roost pages` and every client can. */
async function make(page, manifest, html) {
  const made = await page.evaluate(
    async ({ manifest, html }) => {
      const headers = { Authorization: `Bearer ${localStorage.getItem('roost.session')}`, 'Content-Type': 'application/json' };
      const body = { manifest: { name: manifest.id, version: '1.0.0', entry: 'index.html', ...manifest }, files: { 'index.html': html } };
      const answer = await fetch('/v1/pages', { method: 'POST', headers, body: JSON.stringify(body) });
      return { status: answer.status, text: await answer.text() };
    },
    { manifest, html },
  );
  assert.equal(made.status, 200, made.text);
}

/** Writes a file of the workspace. */
const write = (page, path, content) =>
  page.evaluate(
    async ({ path, content }) => {
      const headers = { Authorization: `Bearer ${localStorage.getItem('roost.session')}`, 'Content-Type': 'application/json' };
      const answer = await fetch(`/v1/host/workspace/files/${path}?names=any`, { method: 'PUT', headers, body: JSON.stringify({ content, contentType: 'text/plain' }) });
      if (!answer.ok) throw new Error(await answer.text());
    },
    { path, content },
  );

/** The frame of the page that is shown. */
async function frameOf(page, name) {
  const element = page.getByRole('article', { name, exact: true }).locator('iframe');
  await element.waitFor();
  return (await element.elementHandle()).contentFrame();
}

/** Answers everything that a page asks for in the same way, and mounts it. */
async function answer(page, name, way) {
  const dialog = page.getByRole('dialog', { name: new RegExp(`^${name} asks for`) });
  await dialog.waitFor();
  for (const choice of await dialog.getByRole('radio', { name: way }).all()) await choice.check();
  await dialog.getByRole('button', { name: 'Mount' }).click();
  await dialog.waitFor({ state: 'detached' });
}

async function choose(page, name, item) {
  await page.getByRole('button', { name: `More for ${name}` }).click();
  await page.getByRole('menuitem', { name: item }).click();
}

test('a page is made, mounted after its rights were decided, and unmounted', async () => {
  const page = await scene.page();
  await go(page, '#/apps', 'Apps');
  await page.getByRole('button', { name: 'New page' }).click();
  await page.getByLabel('What it is called').fill('Shopping list');
  await page.getByRole('button', { name: 'Make it' }).click();
  await seen(card(page, 'Shopping list'));
  await page.getByRole('button', { name: 'Mount Shopping list' }).click();
  const dialog = page.getByRole('dialog', { name: /Shopping list asks for/ });
  await seen(dialog);
  assert.equal(await dialog.getByRole('button', { name: 'Mount' }).isDisabled(), true, 'nothing is chosen for the person');
  await answer(page, 'Shopping list', 'Once');
  const pane = page.getByRole('article', { name: 'Shopping list' });
  await seen(pane.locator('iframe'));
  await seen(pane.getByText('shopping-list', { exact: true }));
  await page.getByRole('button', { name: 'Unmount Shopping list' }).click();
  await go(page, '#/apps', 'Apps');
  await seen(page.getByRole('button', { name: 'Mount Shopping list' }));
  // "Once" ended with the mounting: it asks again, and nothing runs when the person turns away.
  await page.getByRole('button', { name: 'Mount Shopping list' }).click();
  await seen(dialog);
  await page.keyboard.press('Escape');
  await seen(page.getByRole('button', { name: 'Mount Shopping list' }));
  assert.equal(await page.locator('iframe').count(), 0);
  assert.deepEqual(page.problems, []);
});

test('pages are imported by dropping a zip; tricks in it are refused with a reason', async () => {
  const page = await scene.page();
  await go(page, '#/apps', 'Apps');
  await seen(page.getByRole('button', { name: 'New page' }));
  const drop = async (name, bytes) => {
    const transfer = await page.evaluateHandle(
      ({ name, bytes }) => {
        const carried = new DataTransfer();
        carried.items.add(new File([Uint8Array.from(atob(bytes), (sign) => sign.charCodeAt(0))], name, { type: 'application/zip' }));
        return carried;
      },
      { name, bytes: bytes.toString('base64') },
    );
    await page.locator('.zone').dispatchEvent('drop', { dataTransfer: transfer });
  };
  await drop('dropped.zip', pageZip('dropped'));
  await seen(page.getByText('dropped was imported. Nothing was granted to it.'));
  await seen(card(page, 'dropped'));
  const tricks = {
    'climbs.zip': [{ name: '../../outside.txt', content: 'x' }],
    'links.zip': [{ name: 'secret', content: '/etc/passwd', isLink: true }],
    'grows.zip': [{ name: 'zeros.bin', content: Buffer.alloc(8 << 20) }],
  };
  for (const [name, more] of Object.entries(tricks)) {
    await drop(name, pageZip(name.replace('.zip', ''), more));
    await seen(page.locator('.notice.failed'));
    assert.equal(await card(page, name.replace('.zip', '')).count(), 0, name);
    await page.locator('.notice.failed').getByRole('button', { name: 'Dismiss' }).click();
  }
  // An id that is there is replaced only by a person who says so.
  await drop('again.zip', pageZip('dropped', [], { version: '2.0.0' }));
  await page.getByRole('button', { name: 'Replace' }).click();
  await seen(card(page, 'dropped').getByText('2.0.0', { exact: false }));
});

test('several pages run beside each other, in tabs and in tiles, and never load twice', async () => {
  const page = await scene.page();
  const html = (id) => `<!doctype html><title>${id}</title><h1>${id}</h1><script>window.born = Math.random();</script>`;
  for (const id of ['tile-one', 'tile-two', 'tile-three']) await make(page, { id }, html(id));
  const born = {};
  for (const id of ['tile-one', 'tile-two', 'tile-three']) {
    await go(page, '#/apps', 'Apps');
    await page.getByRole('button', { name: `Mount ${id}` }).click();
    const frame = await frameOf(page, id);
    await frame.waitForFunction(() => window.born);
    born[id] = await frame.evaluate(() => window.born);
  }
  const tabs = page.getByRole('tablist', { name: 'Open apps' });
  assert.equal(await tabs.getByRole('tab').count(), 3);
  await tabs.getByRole('tab', { name: 'tile-one' }).click();
  assert.equal(await page.locator('.pane:visible').count(), 1);
  await page.keyboard.press('ArrowRight');
  await seen(page.getByRole('tab', { name: 'tile-two', selected: true }));
  await page.getByRole('button', { name: 'Tiles' }).click();
  assert.equal(await page.locator('.pane:visible').count(), 3);
  // They go on while the person looks elsewhere.
  await go(page, '#/runs', 'Runs');
  await go(page, '#/apps/open/1');
  for (const id of Object.keys(born)) assert.equal(await (await frameOf(page, id)).evaluate(() => window.born), born[id]);
  await page.getByRole('button', { name: 'Unmount tile-two' }).click();
  await page.locator('.pane:visible').nth(2).waitFor({ state: 'detached' });
  assert.equal(await page.locator('.pane:visible').count(), 2);
  assert.deepEqual(page.problems, []);
});

test('the menu of a page edits, shows rights, exports and deletes', async () => {
  const page = await scene.page();
  await make(page, { id: 'menu-page', permissions: { vfs: { read: ['/docs/*'] } } }, '<!doctype html><h1>menu</h1>');
  await go(page, '#/apps', 'Apps');
  await choose(page, 'menu-page', 'Edit');
  await seen(page.getByRole('heading', { name: 'apps/menu-page/index.html' }));
  await go(page, '#/apps', 'Apps');
  await choose(page, 'menu-page', 'Rights');
  await seen(page.getByRole('dialog').getByText('workspace:read:/docs/*'));
  await page.keyboard.press('Escape');
  const arrives = page.waitForEvent('download');
  await choose(page, 'menu-page', 'Export');
  const exported = await arrives;
  assert.equal(exported.suggestedFilename(), 'menu-page.zip');
  assert.equal(readFileSync(await exported.path()).subarray(0, 2).toString(), 'PK');
  // By keys alone: open, down to the last, and away with it.
  await page.getByRole('button', { name: 'More for menu-page' }).focus();
  await page.keyboard.press('Enter');
  await page.locator('[role=menuitem]:focus').waitFor();
  await page.keyboard.press('ArrowUp');
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await card(page, 'menu-page').waitFor({ state: 'detached' });
  assert.deepEqual(page.problems, []);
});

test('a page that is allowed to mounts itself, until its code changes', async () => {
  const page = await scene.page();
  await make(page, { id: 'starter', autoMount: true }, '<!doctype html><h1>started</h1>');
  await page.reload();
  await go(page, '#/apps', 'Apps');
  await seen(page.getByRole('button', { name: 'Mount starter' }));
  await page.getByRole('button', { name: 'Mount starter' }).click();
  await answer(page, 'starter', 'Always');
  await frameOf(page, 'starter');
  await page.reload();
  await go(page, '#/apps', 'Apps');
  await seen(page.getByRole('button', { name: 'Unmount starter' }));
  await write(page, 'apps/starter/index.html', '<!doctype html><h1>other code</h1>');
  await page.reload();
  await go(page, '#/apps', 'Apps');
  await seen(page.getByRole('button', { name: 'Mount starter' }));
  assert.equal(await page.locator('iframe').count(), 0);
});

test('a page that hangs is marked and stopped, and the page around it stays alive', async () => {
  const page = await scene.page();
  await make(page, { id: 'hanging' }, `<!doctype html>${SDK}<h1>soon</h1><script>
    // A machine that is busy still gets the port through before the loop begins.
    const begin = () => (reploid._port ? setTimeout(() => { for (;;); }, 300) : setTimeout(begin, 20));
    begin();
  </script>`);
  await go(page, '#/apps', 'Apps');
  await page.getByRole('button', { name: 'Mount hanging' }).click();
  await seen(page.getByRole('alert').filter({ hasText: 'hanging does not answer' }));
  const others = await page.evaluate(() => new Promise((done) => {
    let frames = 0;
    const tick = () => (++frames < 10 ? requestAnimationFrame(tick) : done(frames));
    tick();
  }));
  assert.equal(others, 10);
  await page.getByRole('button', { name: 'Stop hanging' }).click();
  await page.locator('iframe').waitFor({ state: 'detached' });
});

test('bad manifests and hostile names are shown with their reasons and hide nobody', async () => {
  const page = await scene.page();
  const whole = { id: 'wrong', name: 7, version: 'one', entry: '../x.html', permissions: { vfs: 'all', network: ['http://a'], storage: '9GB' }, display: { width: 'url(x)' }, autoMount: 'yes', created: 'now' };
  await write(page, 'apps/wrong/manifest.json', JSON.stringify(whole));
  await write(page, 'apps/twice/manifest.json', '{"id": "twice", "id": "other"}');
  await write(page, 'apps/no-json/manifest.json', '{');
  const hidden = '\u202Eevil\u202C\u200B\u2066name\u0007';
  for (const [id, name] of [['hidden-signs', hidden], ['long-name', 'x'.repeat(10_000)]]) {
    await write(page, `apps/${id}/manifest.json`, JSON.stringify({ id, name, version: '1.0.0', entry: 'index.html' }));
    await write(page, `apps/${id}/index.html`, '<!doctype html>');
  }
  await make(page, { id: 'good-one' }, '<!doctype html>');
  await go(page, '#/apps', 'Apps');
  await seen(card(page, 'good-one'));
  const wrong = await card(page, 'wrong').innerText();
  for (const field of ['name', 'version', 'entry', 'permissions', 'display', 'autoMount', 'created']) {
    assert.ok(wrong.includes(field), `${field} is not among: ${wrong}`);
  }
  for (const id of ['wrong', 'twice', 'no-json', 'long-name']) {
    await seen(card(page, id).getByText('cannot be mounted'));
    assert.equal(await page.getByRole('button', { name: `Mount ${id}` }).count(), 0, id);
  }
  const shown = await page.getByRole('article').filter({ hasText: 'hidden-signs' }).innerText();
  assert.ok(!/[\u202A-\u202E\u2066-\u2069\u200B\u0007]/.test(shown), JSON.stringify(shown));
  const wide = await page.evaluate(() => document.querySelector('main').scrollWidth - document.querySelector('main').clientWidth);
  assert.ok(wide <= 0, `${wide} pixels too wide`);
  await card(page, 'no-json').getByRole('link', { name: /Why/ }).click();
  await seen(page.getByRole('heading', { name: 'Why' }));
});

test('a model makes a page, a person approves it, and its file says page, run and version', async () => {
  const page = await scene.page();
  const manifest = { id: 'made-by-model', name: 'Made by a model', version: '1.0.0', entry: 'index.html', permissions: { vfs: { write: ['/apps/made-by-model/data/*'] } } };
  const files = { 'index.html': `<!doctype html>${SDK}<script>reploid.vfs.write('/apps/made-by-model/data/first.txt', 'hello from the page').then(() => { document.title = 'written'; });</script>` };
  await page.getByRole('textbox', { name: 'Message' }).fill(`call CreateApp ${JSON.stringify({ manifest, files })}`);
  await page.keyboard.press('Enter');
  await seen(page.getByText('Waiting for a person', { exact: false }));
  await go(page, '#/apps', 'Apps');
  await seen(page.getByRole('button', { name: 'New page' }));
  assert.equal(await card(page, 'Made by a model').count(), 0, 'nothing is there before a person says so');
  await go(page, '#/approvals', 'Approvals');
  await seen(page.getByText('made-by-model', { exact: false }));
  await page.getByRole('button', { name: 'Approve' }).first().click();
  await seen(page.getByText('Approved: made-by-model.', { exact: false }));
  await go(page, '#/apps', 'Apps');
  await page.getByRole('button', { name: 'Mount Made by a model' }).click();
  await answer(page, 'Made by a model', 'Always');
  const frame = await frameOf(page, 'Made by a model');
  await frame.waitForFunction(() => document.title === 'written');
  await go(page, '#/files/apps%2Fmade-by-model%2Fdata%2Ffirst.txt', 'apps/made-by-model/data/first.txt');
  await seen(page.getByText('hello from the page'));
  await page.getByRole('tab', { name: 'History' }).click();
  await seen(page.getByText('v1'));
  await seen(page.getByText('page:made-by-model', { exact: false }));
  await page.getByRole('link', { name: 'its run' }).first().click();
  await seen(page.getByText('made-by-model', { exact: false }));
  assert.deepEqual(page.problems, []);
});

for (const [width, dark] of [[1280, false], [390, true]]) {
  test(`axe finds nothing serious in the Apps view and around open pages, ${width} px`, async () => {
    const page = await scene.page({ width, height: 844, dark, bypassCSP: true });
    const id = `checked-${width}`;
    await make(page, { id, permissions: { vfs: { read: ['/docs/*'], write: ['/docs/*'] } } }, '<!doctype html><html lang="en"><title>x</title><main><h1>x</h1></main>');
    const look = async (name) => {
      await page.addScriptTag({ content: AXE });
      const found = await page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { resultTypes: ['violations'], iframes: false });
        return violations.filter((one) => /serious|critical/.test(one.impact)).map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
      });
      assert.deepEqual(found, [], name);
      const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth) - innerWidth);
      assert.ok(wide <= 0, `${name} is ${wide} pixels too wide`);
    };
    await go(page, '#/apps', 'Apps');
    await seen(card(page, id));
    await look('apps');
    await page.getByRole('button', { name: `Mount ${id}` }).click();
    await seen(page.getByRole('dialog'));
    await look('consent');
    await page.getByRole('dialog').getByRole('button', { name: 'Once' }).click();
    await answer(page, id, 'Once');
    await frameOf(page, id);
    await look('open page');
  });
}
