// The folder of an agent, by the names of its files. Run with `node --test`.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { after } from 'node:test';
import { workspaceOf } from '../workspace.mjs';

const data = fs.mkdtempSync(join(tmpdir(), 'roost-workspace-'));
after(() => fs.rmSync(data, { recursive: true }));

const asked = [];
const workspace = workspaceOf(data, 'ScribeAgent', async (method, params) => {
  asked.push([method, params]);
  return { cancelled: true };
});

test('files are written, read and listed by name', () => {
  workspace.writeText('b.csv', '1,2');
  assert.equal(workspace.writeText('in/a.md', 'é'), join(data, 'workspaces/ScribeAgent/in/a.md'));
  assert.equal(workspace.readText('in/a.md'), 'é');
  const listed = workspace.listFiles();
  assert.deepEqual(listed.map(({ name, size, mime }) => [name, size, mime]), [
    ['b.csv', 3, 'text/csv'],
    ['in/a.md', 2, 'text/markdown'],
  ]);
  assert.ok(Number.isInteger(listed[0].mtime));
  assert.throws(() => workspace.readText('none.md'), { code: 'ENOENT' });
});

test('names that lead out are refused', () => {
  const outside = join(data, 'outside.txt');
  fs.writeFileSync(outside, 'secret');
  fs.symlinkSync(outside, join(workspace.workspaceDir(), 'link'));
  const names = ['', '.', '..', 'a/../b', '../x', '/etc/passwd', '\\x', 'a\\..\\b', 'C:x', 'a\0b', 'a//b', 'a/', 'link'];
  for (const name of [...names, '.roost-x', undefined, 1]) {
    assert.throws(() => workspace.readText(name), { reason: 'invalid_name' }, name);
    assert.throws(() => workspace.writeText(name, 'x'), { reason: 'invalid_name' }, name);
  }
  assert.equal(fs.readFileSync(outside, 'utf8'), 'secret');
});

test('the host is told what is wanted', async () => {
  assert.deepEqual(await workspace.requestFiles('Your list?', '*.csv'), { cancelled: true });
  assert.deepEqual(asked, [['workspace.request_files', { prompt: 'Your list?', patterns: ['*.csv'] }]]);
});
