// What the watcher notices of refusals, and that it changes nothing for whom it watches. Run with `node --test`.

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs, { unlinkSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import process from 'node:process';
import test from 'node:test';
import { begin, failedOnPath, report, watch } from '../watching.mjs';

// Nobody may remove a file of /proc, not even root.
const FORBIDDEN = '/proc/version';

const refusal = (code) => Object.assign(new Error(code), { code });

process.env.GIVEN = 'yes';
await begin({
  confined: true,
  readable: ['/granted/read'],
  writable: ['/granted/write'],
  may_start_programs: false,
  network: 'none',
  withheld: ['SECRET'],
});
syncBuiltinESMExports();

const reported = () => (report()?.refused ?? []).map(({ kind, target }) => `${kind} ${target}`);

test('a refused call is noticed in every form, and its error passed on', async () => {
  assert.throws(() => unlinkSync(FORBIDDEN), { code: 'EPERM' });
  assert.deepEqual(reported(), [`write ${FORBIDDEN}`]);
  await assert.rejects(unlink(FORBIDDEN), { code: 'EPERM' });
  assert.deepEqual(reported(), [`write ${FORBIDDEN}`]);
  const error = await new Promise((resolve) => fs.unlink(FORBIDDEN, resolve));
  assert.equal(error.code, 'EPERM');
  assert.deepEqual(reported(), [`write ${FORBIDDEN}`]);
  assert.equal(report(), null);
});

test('what does not exist here is told outside the bounds, and is just missing inside', () => {
  assert.throws(() => fs.readFileSync('/nonexistent/file'), { code: 'ENOENT' });
  assert.deepEqual(reported(), ['read /nonexistent/file']);
  failedOnPath('read', '/granted/read/missing', refusal('ENOENT'));
  assert.equal(report(), null);
});

test('only what lies outside the bounds is told', () => {
  failedOnPath('read', '/granted/read/file', refusal('EACCES'));
  failedOnPath('write', '/granted/write/file', refusal('EACCES'));
  failedOnPath('read', '/granted/write', refusal('EACCES'));
  failedOnPath('read', '/granted/reading', refusal('EACCES'));
  failedOnPath('write', '/granted/read/file', refusal('EXDEV'));
  failedOnPath('read', new URL('file:///other'), refusal('ERR_ACCESS_DENIED'));
  failedOnPath('read', 5, refusal('EACCES'));
  assert.deepEqual(reported(), ['read /granted/reading', 'write /granted/read/file', 'read /other']);
});

test('folders above something that was to be made are not told as well', () => {
  failedOnPath('read', '/a', refusal('EACCES'));
  failedOnPath('write', '/a/b', refusal('EACCES'));
  assert.deepEqual(reported(), ['write /a/b']);
});

test('at most 64 different things are told of one call', () => {
  for (let number = 0; number < 1000; number++) failedOnPath('read', `/other/${number}`, refusal('EACCES'));
  assert.equal(reported().length, 64);
  assert.equal(report(), null);
});

test('another process is looked into or signalled', () => {
  const stranger = 2 ** 22 + 1; // above every process number
  assert.throws(() => fs.readFileSync(`/proc/${stranger}/status`), { code: 'ENOENT' });
  assert.throws(() => process.kill(stranger, 0), { code: 'ESRCH' });
  assert.equal(process.kill(process.pid, 0), true);
  assert.deepEqual(reported(), [`inspect ${stranger}`, `signal ${stranger}`]);
});

test('a computer that cannot be looked up is told once, with its port', async () => {
  const lookup = (_host, _options, done) => done(refusal('EAI_AGAIN'));
  await new Promise((resolve) => net.connect({ host: 'example.invalid', port: 443, lookup }).on('error', resolve));
  assert.deepEqual(reported(), ['connect example.invalid:443']);
});

test('a program that is started is told, with the fork', () => {
  execFileSync(process.execPath, ['--version']);
  assert.deepEqual(report(), { refused: [{ kind: 'start', target: process.execPath }], forked: true });
});

test('the environment is the same but for what is withheld', () => {
  assert.equal(process.env.GIVEN, 'yes');
  assert.equal(process.env.UNKNOWN, undefined);
  assert.equal(report(), null);
  assert.equal(process.env.SECRET, undefined);
  assert.equal('SECRET' in process.env, false);
  assert.equal(Object.hasOwn(process.env, 'SECRET'), false);
  assert.deepEqual(reported(), ['variable SECRET']);
  process.env.SECRET = 5;
  process.env.SECRET = 6;
  assert.equal(process.env.SECRET, '6');
  assert.ok(Object.keys(process.env).includes('SECRET') && { ...process.env }.SECRET === '6');
  assert.equal(delete process.env.SECRET, true);
  assert.equal('GIVEN' in process.env, true);
  assert.equal(report(), null);
});

test('a watched function keeps its name, its properties and its receiver', () => {
  const holder = { double(value) { return [this === holder, value * 2]; } };
  holder.double.extra = 1;
  watch(holder, 'double', () => assert.fail('nothing failed'));
  assert.deepEqual([holder.double.name, holder.double.length, holder.double.extra], ['double', 1, 1]);
  assert.deepEqual(holder.double(4), [true, 8]);
  assert.equal(typeof fs.realpathSync.native, 'function');
});
