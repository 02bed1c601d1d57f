// The Store view: from searching a catalog to an app that answers, its next version, the way back, and its removal.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { begin, go } from './scene.mjs';
import { Shelf } from './shelf.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const seen = (locator) => locator.first().waitFor();

let scene;
let shelf;
before(async () => {
  scene = await begin();
  shelf = new Shelf(scene);
  shelf.make('word_count', 'Counts words.');
  shelf.publish('word_count');
  shelf.make('tea_timer', 'Says when tea is ready.', '@bob');
  shelf.publish('tea_timer');
  shelf.open();
});
afterEach(() => scene?.rest());
after(() => scene?.end());

test('an app is found, read, installed with its rights in plain words, and answers', async () => {
  const page = await scene.page();
  await go(page, '#/store', 'Store');
  await seen(page.getByText('2 apps', { exact: true }));
  await page.getByRole('searchbox', { name: 'Find an app' }).fill('words');
  await seen(page.getByText('1 app', { exact: true }));
  await page.getByRole('link', { name: /word_count|Word/i }).first().click();
  const panel = page.getByRole('region', { name: /^Installing/ });
  await seen(panel.getByText(/Safety grade [A-E]/));
  await seen(panel.getByText('What it asks for'));
  await page.getByRole('tab', { name: 'Source' }).click();
  await page.getByRole('button', { name: /word_count_agent\.py/ }).click();
  await seen(page.getByRole('region', { name: /Source of .*word_count_agent\.py/ }).getByText('BasicAgent', { exact: false }));
  await page.getByRole('tab', { name: 'Details' }).click();
  await seen(page.getByText('@ada', { exact: true }));
  await page.getByRole('tab', { name: /installing/ }).click();
  await panel.getByRole('button', { name: 'Install' }).click();
  await seen(panel.getByText('In its place, and serving'));
  await seen(panel.getByText('0.1.0 is installed.', { exact: false }));
  const [app] = scene.roost('apps').apps;
  assert.deepEqual([app.id, app.version, app.state], ['word_count', '0.1.0', 'enabled']);
  await panel.getByRole('link', { name: 'Show it' }).click();
  await seen(page.getByText('answers', { exact: true }));
  await page.getByRole('link', { name: 'WordCount' }).click();
  await seen(page.getByRole('heading', { name: 'WordCount' }));
  assert.deepEqual(page.problems, []);
});

test('a version that asks for more waits, shows what is new, is approved, rolled back and removed', async () => {
  shelf.raise('word_count', '0.1.0', '0.2.0');
  shelf.change('word_count', {
    'singleton/word_count_agent.py': (text) =>
      text.replace(/^import json$/m, 'import json\nimport os').replace('"words": len(text.split())', '"words": len(text.split()), "by": os.environ.get("WORD_COUNT_NAME", "nobody")'),
  });
  shelf.publish('word_count');
  scene.roost('store', 'refresh');
  const page = await scene.page();
  await go(page, '#/store/installed', 'Store');
  await page.getByRole('link', { name: /Counts words/ }).click();
  await page.getByRole('button', { name: 'Update' }).click();
  const waits = page.getByRole('region', { name: 'Version 0.2.0 waits' });
  await seen(waits.getByText('env:WORD_COUNT_NAME'));
  await seen(waits.getByText('new', { exact: true }));
  await go(page, '#/approvals', 'Approvals');
  await seen(page.getByRole('region', { name: 'Version 0.2.0 waits' }));
  await go(page, '#/store/installed/word_count');
  await waits.getByRole('button', { name: /take 0\.2\.0/ }).click();
  await seen(page.getByText('is 0.2.0 now', { exact: false }));
  await seen(page.getByText('0.1.0', { exact: false }));
  await page.getByRole('button', { name: 'Roll back' }).click();
  await seen(page.getByText('is 0.1.0 again', { exact: false }));
  assert.equal(scene.roost('apps').apps.find((app) => app.id === 'word_count').version, '0.1.0');
  await page.getByRole('button', { name: 'Mount its page' }).click();
  const dialog = page.getByRole('dialog');
  const pane = page.locator('.pane iframe');
  await seen(dialog.or(pane));
  if (await dialog.isVisible()) {
    const choices = dialog.getByRole('radio', { name: 'Once' });
    for (let at = 0; at < (await choices.count()); at += 1) await choices.nth(at).check({ force: true });
    await dialog.getByRole('button', { name: 'Mount' }).click();
  }
  await seen(pane);
  await go(page, '#/store/installed/word_count');
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await seen(page.getByText('was removed. Its workspace stays.', { exact: false }));
  assert.deepEqual(scene.roost('apps').apps, []);
  await page.locator('.pane iframe').waitFor({ state: 'detached' });
});

test('what does not answer is not installed, and says why', async () => {
  shelf.make('never_loads', 'Breaks when it is loaded.');
  shelf.change('never_loads', { 'singleton/never_loads_agent.py': (text) => `${text}\nraise RuntimeError("broken on purpose")\n` });
  shelf.publish('never_loads');
  scene.roost('store', 'refresh');
  const page = await scene.page();
  await go(page, '#/store/never_loads');
  const panel = page.getByRole('region', { name: /^Installing/ });
  await panel.getByRole('button', { name: 'Install' }).click();
  await seen(panel.getByText('broken on purpose', { exact: false }));
  await seen(panel.getByText('Nothing of it stays.'));
  assert.deepEqual(scene.roost('apps').apps, []);
});

test('an app is installed from a folder of this machine, and a folder without one is refused', async () => {
  const page = await scene.page();
  await go(page, '#/store', 'Store');
  const from = async (path) => {
    await page.getByRole('button', { name: 'Install from…' }).click();
    await page.getByLabel('Path or address').fill(path);
    await page.getByRole('button', { name: 'Look at it' }).click();
  };
  await from(`${scene.folder}/nothing-here`);
  await seen(page.locator('.notice.failed'));
  await from(`${scene.folder}/tea_timer`);
  const panel = page.getByRole('dialog').getByRole('region', { name: /^Installing/ });
  await panel.getByRole('button', { name: 'Install' }).click();
  await seen(panel.getByText('is installed.', { exact: false }));
  assert.deepEqual(scene.roost('apps').apps.map((app) => app.id), ['tea_timer']);
});

for (const [width, dark] of [[1280, true], [390, false]]) {
  test(`axe finds nothing serious in the store, and nothing is too wide, ${width} px`, async () => {
    const page = await scene.page({ width, height: 844, dark, bypassCSP: true });
    for (const [address, text] of [['#/store', '3 apps'], ['#/store/word_count', /Safety grade/], ['#/store/installed', 'Look for updates'], ['#/store/installed/tea_timer', /Safety grade/]]) {
      await go(page, address);
      await seen(page.getByText(text));
      await page.addScriptTag({ content: AXE });
      const found = await page.evaluate(async () => {
        const { violations } = await window.axe.run(document, { resultTypes: ['violations'] });
        return violations.filter((one) => /serious|critical/.test(one.impact)).map((one) => `${one.id}: ${one.nodes[0].html.slice(0, 200)}`);
      });
      assert.deepEqual(found, [], address);
      const wide = await page.evaluate(() => Math.max(document.documentElement.scrollWidth, document.querySelector('main').scrollWidth) - innerWidth);
      assert.ok(wide <= 0, `${address} is ${wide} pixels too wide`);
    }
  });
}
