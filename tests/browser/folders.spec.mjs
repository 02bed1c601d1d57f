// Folders of agents in the workspace view: where they are, opening them on the host's machine, and where nothing can.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { begin, go } from './scene.mjs';

const seen = (locator) => locator.first().waitFor();
const WORKSPACE = 'app.notes_agent';
const HERE = `#/files?of=${WORKSPACE}`;

/** Stands for what a desktop has: it notes what it was to open, or does not open it. */
const opener = (script) => writeFileSync(join(programs, 'xdg-open'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
const NOTES = 'printf %s "$1" > "$HOME/opened"';

let scene;
let programs;
before(async () => {
  programs = mkdtempSync(join(tmpdir(), 'roost-opener-'));
  opener(NOTES);
  scene = await begin({ environment: { PATH: `${programs}:${process.env.PATH}`, DISPLAY: ':77' } });
  scene.roost('call', 'Notes', 'text=hello');
});
afterEach(() => scene?.rest());
after(async () => {
  await scene?.end();
  rmSync(programs, { recursive: true, force: true });
});

test('the folder of an agent is opened where the host has a file manager, with the newest versions in it', async () => {
  const page = await scene.page();
  await go(page, '#/files', 'Workspace');
  await page.getByLabel('Whose files').selectOption('Files of notes_agent');
  const place = page.getByRole('region', { name: 'Folder of notes_agent' });
  const path = join(scene.home, '.brainstem_data/workspaces/notes_agent');
  assert.equal(await place.getByTitle(path).innerText(), path);
  await page.evaluate(async (workspace) => {
    const headers = { Authorization: `Bearer ${localStorage.getItem('roost.session')}`, 'Content-Type': 'application/json', 'Roost-Workspace': workspace };
    const answer = await fetch('/v1/host/workspace/files/notes.md', { method: 'PUT', headers, body: JSON.stringify({ content: 'changed in the page', contentType: 'text/markdown' }) });
    if (!answer.ok) throw new Error(await answer.text());
  }, WORKSPACE);
  await place.getByRole('button', { name: 'Open folder' }).click();
  await seen(page.getByText('The folder of notes_agent is open in the file manager.'));
  assert.equal(readFileSync(join(scene.folder, 'opened'), 'utf8'), path);
  assert.equal(readFileSync(join(path, 'notes.md'), 'utf8'), 'changed in the page');
  // What a person keeps is in no folder, so there is none to open.
  await go(page, '#/files', 'Workspace');
  await place.waitFor({ state: 'detached' });
  assert.deepEqual(page.problems, []);
});

test('where nothing can be opened, the path is there to be copied', async () => {
  opener('exit 4');
  const page = await scene.page({ permissions: ['clipboard-read', 'clipboard-write'] });
  await go(page, HERE, 'Workspace');
  const place = page.getByRole('region', { name: 'Folder of notes_agent' });
  await place.getByRole('button', { name: 'Open folder' }).click();
  await seen(place.getByText('The host has no screen or no file manager', { exact: false }));
  assert.equal(await place.getByRole('button', { name: 'Open folder' }).count(), 0);
  await place.getByRole('button', { name: 'Copy the path of the folder' }).click();
  await seen(place.getByRole('button', { name: 'Copied' }));
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), join(scene.home, '.brainstem_data/workspaces/notes_agent'));
  assert.deepEqual(page.problems, []);
});

test('a host without a screen opens nothing, and neither does a name that leads elsewhere', async () => {
  opener(NOTES);
  rmSync(join(scene.folder, 'opened'));
  const blind = await begin({ model: false, browser: false, environment: { PATH: `${programs}:${process.env.PATH}` } });
  try {
    blind.roost('call', 'Notes', 'text=hello');
    const open = async (of, folder, headers) => (await fetch(`${of.address}/workspace-folders/${folder}/open`, { method: 'POST', headers })).json();
    const shown = (of) => ({ Authorization: `Bearer ${readFileSync(join(of.home, 'run/owner.token'), 'utf8').trim()}` });
    const path = join(blind.home, '.brainstem_data/workspaces/notes_agent');
    assert.deepEqual(await open(blind, 'notes_agent', shown(blind)), { path, opened: false });
    for (const folder of ['..%2F..', '%2E%2E', '%2Fetc', 'nobody']) {
      const { reason, opened } = await open(scene, folder, shown(scene));
      assert.deepEqual([reason === undefined, opened], [false, undefined], folder);
    }
    assert.equal((await open(scene, 'notes_agent', {})).reason, 'owner_only');
    assert.throws(() => readFileSync(join(scene.folder, 'opened')), { code: 'ENOENT' });
  } finally {
    await blind.end();
  }
});
