// Pictures of every view, light and dark, on a desk and on a phone: `node tests/browser/screenshots.mjs [FOLDER]`.
//
// They are kept in docs/screenshots as WebP. `PNG=1` writes PNG instead, for tools that read nothing else; `ONLY=chat,store`
// takes only those views.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as gallery from './gallery.mjs';
import { folder } from './programs.mjs';
import { begin, go } from './scene.mjs';
import { Shelf } from './shelf.mjs';

const HERE = resolve(fileURLToPath(import.meta.url), '..');
const FOLDER = resolve(process.argv[2] ?? join(HERE, '../../docs/screenshots'));
const FORMAT = process.env.PNG ? { format: 'png' } : { format: 'webp', quality: 82 };
const ONLY = process.env.ONLY?.split(',');
const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

const model = await gallery.model();
const scene = await begin({ agents: gallery.agents, model: model.url });
try {
  mkdirSync(FOLDER, { recursive: true });
  await furnish();
  for (const [size, box] of Object.entries(SIZES)) {
    for (const dark of [false, true]) await take(size, box, dark);
  }
} finally {
  await scene.end();
  model.close();
}

/** Fills the home by doing what a person would do. */
async function furnish() {
  const shelf = new Shelf(scene);
  for (const [id, name, summary, publisher] of gallery.shelf) {
    shelf.make(id, summary, publisher, name);
    if (id === 'trip_planner') reaches(shelf, id);
    shelf.publish(id);
  }
  shelf.open();
  scene.roost('install', '@mara/trip_planner', '--asked');
  scene.roost('install', '@noor/recipe_box', '--yes');
  shelf.raise('recipe_box', '0.1.0', '0.2.0');
  reaches(shelf, 'recipe_box');
  shelf.publish('recipe_box');
  scene.roost('store', 'refresh');
  scene.roost('update', 'recipe_box');
  scene.roost('sideload', folder(scene, gallery.program, { 'ui/index.html': '<!doctype html><title>Mail desk</title>' }), '--asked');
  scene.roost('settings', gallery.program.id, ...gallery.programSettings);
  const page = await scene.page();
  for (const said of gallery.said) {
    await page.getByRole('textbox', { name: 'Message' }).fill(said);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' });
    await page.locator('article.answer').nth(gallery.said.indexOf(said)).waitFor();
  }
  await page.evaluate(async ({ files, pages }) => {
    const headers = { Authorization: `Bearer ${localStorage.getItem('roost.session')}`, 'Content-Type': 'application/json' };
    const put = (path, content) => fetch(`/v1/host/workspace/files/${encodeURIComponent(path)}`, { method: 'PUT', headers, body: JSON.stringify({ content, contentType: 'text/plain' }) });
    for (const [path, content] of Object.entries(files)) await put(path, content);
    await put('plans/porto.md', `${files['plans/porto.md']}- back on Sunday, 19:40\n`);
    await put('plans/porto.md', `${files['plans/porto.md'].replace('hotel near São Bento', 'hotel near São Bento, two nights')}- back on Sunday, 19:40\n`);
    for (const { manifest, html } of pages) {
      const body = { manifest: { version: '1.0.0', entry: 'index.html', ...manifest }, files: { 'index.html': html } };
      await fetch('/v1/pages', { method: 'POST', headers, body: JSON.stringify(body) });
    }
    await put('apps/broken-clock/manifest.json', '{"id": "broken-clock", "name": "Broken clock", "version": "soon"}');
  }, { files: gallery.files, pages: gallery.pages });
  await page.context().close();
}

/** Lets the agent of an app ask for something that a person would want to know. */
function reaches(shelf, id) {
  shelf.change(id, {
    [`singleton/${id}_agent.py`]: (text) =>
      text.replace(/^import json$/m, 'import json\nimport os\nimport urllib.request').replace(/^( +)def perform\(self, \*\*kwargs\):$/m, '$1def look(self):\n$1    key = os.environ["TIMETABLE_KEY"]\n$1    return urllib.request.urlopen("https://timetable.example.org/now?" + key).read()\n\n$&'),
  });
}

/** One round of pictures. */
async function take(size, box, dark) {
  const page = await scene.page({ ...box, dark, deviceScaleFactor: 1 });
  const session = await page.context().newCDPSession(page);
  const shot = async (name, prepare) => {
    if (ONLY && !ONLY.includes(name)) return;
    await prepare();
    await page.waitForFunction(() => ![...document.querySelectorAll('main .spinner')].some((one) => one.checkVisibility()));
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await page.evaluate((home) => {
      document.activeElement?.blur();
      // Nobody else's home is where this one is.
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) walker.currentNode.data = walker.currentNode.data.replaceAll(home, '~/.roost');
    }, scene.home);
    const { data } = await session.send('Page.captureScreenshot', FORMAT);
    writeFileSync(join(FOLDER, `${name}-${size}-${dark ? 'dark' : 'light'}.${FORMAT.format}`), Buffer.from(data, 'base64'));
  };
  const seen = (locator) => locator.first().waitFor();
  await shot('chat', async () => {
    const [first] = scene.conversations ??= await page.evaluate(async () => {
      const answer = await fetch('/conversations', { headers: { Authorization: `Bearer ${localStorage.getItem('roost.session')}` } });
      return (await answer.json()).conversations.map((one) => one.session_id);
    });
    await go(page, `#/chat/${first}`);
    await seen(page.locator('details.tool'));
    await page.locator('article.answer').nth(1).scrollIntoViewIfNeeded();
    await page.locator('[role=log]').evaluate((log) => log.scrollTo(0, 120));
  });
  await shot('agents', () => go(page, '#/agents/Translate', 'Translate'));
  await shot('rights', () => go(page, '#/agents/Weather/rights', 'Weather'));
  await shot('apps', async () => {
    await go(page, '#/apps', 'Apps');
    await seen(page.getByRole('article', { name: 'Trip planner' }));
  });
  await shot('consent', async () => {
    await go(page, '#/apps', 'Apps');
    await page.getByRole('button', { name: 'Mount Home energy' }).click();
    await seen(page.getByRole('dialog'));
  });
  if (await page.getByRole('dialog').isVisible()) await page.keyboard.press('Escape');
  await shot('open-apps', async () => {
    for (const name of ['Month budget', 'Reading list']) {
      await go(page, '#/apps', 'Apps');
      await page.getByRole('button', { name: `Mount ${name}` }).click();
      const dialog = page.getByRole('dialog', { name: /asks for/ });
      const frame = page.getByRole('article', { name }).locator('iframe');
      // What was given in the round before holds for a while after its browser is gone.
      await seen(dialog.or(frame));
      if (await dialog.isVisible()) {
        for (const choice of await dialog.getByRole('radio', { name: 'Once' }).all()) await choice.check();
        await dialog.getByRole('button', { name: 'Mount' }).click();
      }
      await seen(frame);
    }
    await page.getByRole('button', { name: 'Tiles' }).click();
  });
  await shot('store', async () => {
    await go(page, '#/store', 'Store');
    await seen(page.getByText('5 apps'));
  });
  await shot('store-app', async () => {
    await go(page, '#/store/@mara%2Ftrip_planner');
    await seen(page.getByText(/Safety grade/));
  });
  await shot('store-source', async () => {
    await go(page, '#/store/@ada%2Fmeeting_notes');
    await page.getByRole('tab', { name: 'Source' }).click();
    await seen(page.getByRole('region', { name: /Source of/ }));
  });
  await shot('installed', async () => {
    await go(page, '#/store/installed', 'Store');
    await seen(page.getByText('Look for updates'));
  });
  await shot('update', async () => {
    await go(page, '#/store/installed/recipe_box');
    await seen(page.getByText(/waits for you/));
  });
  await shot('program', async () => {
    await go(page, `#/store/installed/${gallery.program.id}`, gallery.program.name);
    await seen(page.getByRole('tab', { name: 'Calls' }));
  });
  await shot('program-settings', async () => {
    await go(page, `#/store/installed/${gallery.program.id}`, gallery.program.name);
    await page.getByRole('tab', { name: 'Settings' }).click();
    await seen(page.getByLabel('Signature'));
    await page.getByRole('region', { name: 'Program' }).evaluate((panel) => panel.scrollIntoView());
  });
  await shot('program-calls', async () => {
    scene.roost('call', 'echo', 'about=the mail of today');
    await go(page, `#/store/installed/${gallery.program.id}`, gallery.program.name);
    await page.getByRole('tab', { name: 'Calls' }).click();
    await seen(page.getByRole('region', { name: 'Latest calls' }));
    await page.getByRole('region', { name: 'Program' }).evaluate((panel) => panel.scrollIntoView());
  });
  await shot('folder', async () => {
    await go(page, '#/files?of=app.notes_agent', 'Workspace');
    await seen(page.getByRole('region', { name: 'Folder of notes_agent' }));
  });
  await shot('workspace', async () => {
    await go(page, '#/files/plans%2Fporto.md', 'plans/porto.md');
    await page.getByRole('tab', { name: 'History' }).click();
    await page.getByRole('button', { name: 'What changed' }).first().click();
    await seen(page.locator('ins'));
  });
  await shot('runs', async () => {
    await go(page, '#/runs', 'Runs');
    await page.getByRole('link', { name: /Write that down/ }).first().click();
    await seen(page.getByRole('button', { name: 'Replay' }));
  });
  await shot('approvals', async () => {
    await go(page, '#/approvals', 'Approvals');
    await seen(page.getByText('Weather'));
  });
  await shot('audit', () => go(page, '#/audit', 'Audit'));
  await shot('settings', () => go(page, '#/settings', 'Settings'));
  await shot('why', () => go(page, '#/why/digest_agent', 'Why'));
  await page.context().close();
}
