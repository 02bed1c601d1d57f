// Text that would like to run, pages that would like to act, and keys that must not leak.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, afterEach, before, test } from 'node:test';
import { begin, go, HOSTILE } from './scene.mjs';

let scene;
before(async () => (scene = await begin()));
afterEach(() => scene?.rest());
after(() => scene?.end());

const seen = (locator) => locator.first().waitFor();

test('hostile text runs nowhere: messages, names, outputs, files, titles', async () => {
  const page = await scene.page();
  const elsewhere = [];
  page.on('request', (request) => !request.url().startsWith(scene.address) && !request.url().startsWith('blob:') && elsewhere.push(request.url()));
  const text = `${HOSTILE} [x](javascript:window.hurt=1) ![p](https://evil.example/p.png) <svg/onload=window.hurt=1>`;
  await page.evaluate(async (content) => {
    const headers = { Authorization: `Bearer ${localStorage.getItem('roost.session')}` };
    for (const name of ['hostile.md', 'hostile.html', 'hostile.svg', 'hostile.txt']) {
      await fetch(`/v1/host/workspace/files/${name}`, { method: 'PUT', headers, body: JSON.stringify({ content }) });
    }
  }, text);
  await page.getByRole('textbox', { name: 'Message' }).fill(`say ${text}`);
  await page.keyboard.press('Enter');
  await seen(page.locator('article.answer').getByText('window.hurt=1', { exact: false }));
  await page.getByRole('textbox', { name: 'Message' }).fill('call Hostile {"x": "<b>"}');
  await page.keyboard.press('Enter');
  await seen(page.locator('details.tool'));
  await page.locator('details.tool summary').first().click();
  for (const [address, heading] of [
    ['#/agents/Hostile', 'Hostile'],
    ['#/agents/Hostile/source', 'Hostile'],
    ['#/agents/Hostile/rights', 'Hostile'],
    ['#/files/hostile.md', 'hostile.md'],
    ['#/files/hostile.html', 'hostile.html'],
    ['#/files/hostile.svg', 'hostile.svg'],
    ['#/files/hostile.txt', 'hostile.txt'],
    ['#/runs', 'Runs'],
    ['#/audit', 'Audit'],
    ['#/approvals', 'Approvals'],
    [`#/why/${encodeURIComponent(HOSTILE)}`, 'Why'],
    [`#/agents/${encodeURIComponent(HOSTILE)}`, undefined],
    [`#/store/${encodeURIComponent(HOSTILE)}`, undefined],
    ['#/%E0%A4%A', undefined],
  ]) {
    await go(page, address, heading);
    await page.waitForLoadState('networkidle');
    assert.equal(await page.evaluate(() => window.hurt), undefined, address);
    assert.equal(await page.locator('main img[onerror], main script, main svg[onload], a[href^="javascript:"]').count(), 0, address);
  }
  assert.deepEqual(elsewhere, [], 'nothing was asked of anybody else');
});

test('the page’s own policy stops markup and script that got in anyway', async () => {
  const page = await scene.page();
  const done = await page.evaluate(() => {
    const tries = {
      markup: () => (document.querySelector('main').innerHTML = '<p id="hurt">'),
      attribute: () => {
        const button = document.createElement('button');
        button.setAttribute('onclick', 'window.hurt = 1');
        document.body.append(button);
        button.click();
      },
      script: () => {
        const script = document.createElement('script');
        script.append('window.hurt = 1');
        document.body.append(script);
      },
      address: () => {
        const link = document.createElement('a');
        link.href = 'javascript:window.hurt=1';
        document.body.append(link);
        link.click();
      },
    };
    for (const attempt of Object.values(tries)) {
      try {
        attempt();
      } catch {
        // Refused before anything happened.
      }
    }
    return new Promise((told) => setTimeout(() => told([window.hurt, document.getElementById('hurt')]), 100));
  });
  assert.deepEqual(done.filter(Boolean), []);
  const answer = await fetch(scene.address);
  const policy = answer.headers.get('content-security-policy');
  for (const part of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'", "frame-ancestors 'none'"]) {
    assert.ok(policy.includes(part), policy);
  }
  assert.equal(answer.headers.get('x-content-type-options'), 'nosniff');
});

test('a ticket leaves the address at once, works once, and only hashes are kept', async () => {
  const { url } = scene.roost('open');
  const context = await scene.browser.newContext();
  const page = await context.newPage();
  await page.goto(url);
  await page.waitForFunction(() => localStorage.getItem('roost.session') !== null);
  assert.ok(!page.url().includes('ticket'), page.url());
  assert.equal(await page.evaluate(() => history.length), 2, 'the address with the ticket was replaced, not followed');
  const other = await scene.browser.newContext();
  const late = await other.newPage();
  await late.addInitScript(() => localStorage.setItem('roost.toured', 'yes'));
  await late.goto(url);
  await late.evaluate(() => (location.hash = '#/runs'));
  await seen(late.getByText('This link was used already', { exact: false }));
  assert.equal(await late.evaluate(() => localStorage.getItem('roost.session')), null);
});

test('without a session the page talks and runs agents, and nothing of the owner’s', async () => {
  const page = await scene.page({ signedIn: false });
  await page.getByRole('textbox', { name: 'Message' }).fill('say hello there');
  await page.keyboard.press('Enter');
  await seen(page.locator('article.answer').getByText('hello there'));
  for (const address of ['#/files', '#/runs', '#/approvals', '#/audit', '#/store', '#/why/x']) {
    await go(page, address);
    await seen(page.getByRole('heading', { name: 'Show that this host is yours' }));
  }
  const statuses = await page.evaluate(() =>
    Promise.all(
      ['/rights?app=x', '/rights/waiting', '/audit', '/audit/verify', '/why?subject=x', '/doctor', '/conversations', '/catalogs', '/secrets'].map(
        async (path) => (await fetch(path)).status,
      ),
    ),
  );
  assert.ok(statuses.every((status) => status === 403), String(statuses));
});

test('signing out ends the session on the host', async () => {
  const page = await scene.page();
  const session = await page.evaluate(() => localStorage.getItem('roost.session'));
  await go(page, '#/settings', 'Settings');
  await page.getByRole('button', { name: 'Sign out' }).click();
  await seen(page.getByRole('heading', { name: 'Show that this host is yours' }));
  const answer = await fetch(`${scene.address}/secrets`, { headers: { Authorization: `Bearer ${session}` } });
  assert.equal(answer.status, 403);
});

test('a page of another origin can neither act, nor read, nor frame', async () => {
  const script = `
    const results = [];
    const host = ${JSON.stringify(scene.address)};
    const tries = [
      () => fetch(host + '/chat', { method: 'POST', body: '{"user_input":"/Greeter who=x"}' }),
      () => fetch(host + '/owner/sessions', { method: 'POST', body: '{}' }),
      () => fetch(host + '/v1/agents'),
    ];
    Promise.all(tries.map((one) => one().then((answer) => results.push(answer.status), () => results.push('refused')))).then(() => {
      const frame = document.createElement('iframe');
      frame.src = host;
      document.body.append(frame);
      frame.onload = () => setTimeout(() => { try { results.push(frame.contentDocument ? 'read' : 'closed'); } catch { results.push('closed'); } document.title = results.join(); });
    });`;
  const server = createServer((_, response) => response.setHeader('content-type', 'text/html').end(`<body><script>${script}</script></body>`));
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  try {
    const context = await scene.browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.waitForFunction(() => document.title !== '');
    assert.equal(await page.title(), 'refused,refused,refused,closed');
  } finally {
    server.close();
  }
});
