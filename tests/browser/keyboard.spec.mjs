// Everything by keyboard, everything for screen readers, everything at the width of a phone.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, afterEach, before, test } from 'node:test';
import { begin, go } from './scene.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** Every view, with something in it. */
const VIEWS = [
  ['#/chat', undefined],
  ['#/agents/Greeter', 'Greeter'],
  ['#/agents/Greeter/source', 'Greeter'],
  ['#/agents/Weather/rights', 'Weather'],
  ['#/agents/broken_agent', 'broken_agent'],
  ['#/files/notes%2Ftoday.md', 'notes/today.md'],
  ['#/runs', 'Runs'],
  ['#/approvals', 'Approvals'],
  ['#/audit', 'Audit'],
  ['#/store', 'Store'],
  ['#/settings', 'Settings'],
  ['#/why/syntax_error', 'Why'],
];

let scene;
before(async () => {
  scene = await begin();
  const page = await scene.page();
  await page.getByRole('textbox', { name: 'Message' }).fill('call Weather {"city": "Paris"}');
  await page.keyboard.press('Enter');
  await page.getByText('tools said', { exact: false }).first().waitFor();
  await page.evaluate(async () => {
    const headers = { Authorization: `Bearer ${localStorage.getItem('roost.session')}` };
    const content = '# Today\n\n- [x] swim\n- a_very_long_word_'.concat('x'.repeat(300), '\n\n| a | b |\n|---|---|\n| 1 | 2 |');
    await fetch('/v1/host/workspace/files/notes%2Ftoday.md', { method: 'PUT', headers, body: JSON.stringify({ content }) });
  });
  await page.context().close();
});
afterEach(() => scene?.rest());
after(() => scene?.end());

/** Waits until what a view asks for has come. */
const settled = (page) => page.waitForLoadState('networkidle');

for (const dark of [false, true]) {
  test(`axe finds nothing serious in any view, ${dark ? 'dark' : 'light'}`, async () => {
    const page = await scene.page({ dark, bypassCSP: true });
    await page.addScriptTag({ content: AXE });
    const found = [];
    const look = async (name) => {
      const violations = await page.evaluate(async () => {
        const result = await window.axe.run(document, { resultTypes: ['violations'] });
        return result.violations.map((one) => `${one.impact} ${one.id}: ${one.nodes.map((node) => node.html.slice(0, 160)).slice(0, 3).join(' | ')}`);
      });
      found.push(...violations.filter((one) => /^(serious|critical)/.test(one)).map((one) => `${name}: ${one}`));
    };
    for (const [address, heading] of VIEWS) {
      await go(page, address, heading);
      await settled(page);
      await look(address);
    }
    await go(page, '#/chat');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Find or do' }).waitFor();
    await look('palette');
    assert.deepEqual(found, []);
  });
}

test('no view is wider than a phone', async () => {
  const page = await scene.page({ width: 390, height: 844 });
  for (const [address, heading] of VIEWS) {
    await go(page, address, heading);
    await settled(page);
    const wide = await page.evaluate(() => {
      const main = document.querySelector('main');
      return Math.max(document.documentElement.scrollWidth, main.scrollWidth) - innerWidth;
    });
    assert.ok(wide <= 0, `${address} is ${wide} pixels too wide`);
  }
});

test('views, agents and files are reached by keys alone', async () => {
  const page = await scene.page();
  await page.locator('body').press('Tab');
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Skip to content');
  await page.keyboard.press('Enter');
  await page.keyboard.press('g');
  await page.keyboard.press('r');
  await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('greet');
  await page.getByRole('option', { name: /Greeter/ }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'Greeter', exact: true }).waitFor();
  await page.keyboard.press('/');
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('aria-label')), 'Find an agent');
});

test('an agent is run by keys alone', async () => {
  const page = await scene.page();
  await go(page, '#/agents/Greeter', 'Greeter');
  await page.getByRole('tab', { name: 'Run' }).focus();
  await page.keyboard.press('Tab');
  await page.keyboard.type('Ada');
  await page.keyboard.press('Enter');
  await page.getByRole('region', { name: 'Output' }).getByText('Hello, Ada!').waitFor();
  await page.getByRole('tab', { name: 'Run' }).focus();
  await page.keyboard.press('ArrowRight');
  await page.getByRole('region', { name: /Source of/ }).waitFor();
});

test('a slash offers agents, and Tab takes one', async () => {
  const page = await scene.page();
  await page.keyboard.press('/');
  await page.keyboard.type('/gre');
  await page.getByRole('option', { name: /Greeter/ }).waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type('Ada');
  await page.keyboard.press('Enter');
  await page.locator('article.answer').getByText('Hello, Ada!').first().waitFor();
});
