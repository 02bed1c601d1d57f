// Notices what Node's own functions are refused. Importers see the wrapped ones, whichever way they import.

import child_process from 'node:child_process';
import fs from 'node:fs';
import process from 'node:process';
import { failedOnPath, failedToSignal, started, starting, watch, watchBefore } from './watching.mjs';
import { watchNetwork } from './watching_network.mjs';

const READING = ['opendir', 'openAsBlob', 'readFile', 'readdir', 'readlink', 'realpath', 'stat', 'lstat', 'statfs', 'watch'];
const WRITING = [
  'appendFile', 'chmod', 'chown', 'lchmod', 'lchown', 'lutimes', 'mkdir', 'mkdtemp', 'rm', 'rmdir', 'truncate', 'unlink',
  'utimes', 'writeFile',
];
/** What is done to the first path, and to the second. */
const BOTH = {
  copyFile: ['read', 'write'],
  cp: ['read', 'write'],
  link: ['read', 'write'],
  rename: ['write', 'write'],
  symlink: [null, 'write'],
};

/** The modules are changed; whoever calls this has to make that known to importers. */
export function watchCalls({ isNetworkOpen }) {
  watchFiles();
  watchPrograms();
  watch(process, 'kill', (error, [pid]) => failedToSignal(pid, error));
  if (!isNetworkOpen) watchNetwork();
}

function watchFiles() {
  const everywhere = (name, look) => {
    watch(fs, name, look);
    watch(fs, `${name}Sync`, look);
    // Watching in this form gives something to go through rather than a promise.
    if (name !== 'watch') watch(fs.promises, name, look);
  };
  for (const name of READING) everywhere(name, (error, [path]) => failedOnPath('read', path, error));
  for (const name of WRITING) everywhere(name, (error, [path]) => failedOnPath('write', path, error));
  for (const [name, kinds] of Object.entries(BOTH)) {
    everywhere(name, (error, paths) => {
      for (const [index, kind] of kinds.entries()) if (kind !== null) failedOnPath(kind, paths[index], error);
    });
  }
  // Streams open their files with it too.
  everywhere('open', (error, [path, flags]) => failedOnPath(isForWriting(flags) ? 'write' : 'read', path, error));
  everywhere('access', (error, [path, mode]) => {
    failedOnPath(typeof mode === 'number' && mode & fs.constants.W_OK ? 'write' : 'read', path, error);
  });
  for (const realpath of [fs.realpath, fs.realpathSync]) {
    watch(realpath, 'native', (error, [path]) => failedOnPath('read', path, error));
  }
}

function isForWriting(flags) {
  const { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_APPEND } = fs.constants;
  if (typeof flags === 'number') return (flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC | O_APPEND)) !== 0;
  return typeof flags === 'string' && /[wax+]/.test(flags);
}

function watchPrograms() {
  // Whatever does not wait for its child starts it here.
  watchBefore(child_process.ChildProcess.prototype, 'spawn', (child, [options]) => {
    starting(programOf(options?.file, options?.args));
    return () => started(child.pid);
  });
  watchBefore(child_process, 'spawnSync', (_, [file, given, options]) => {
    starting((Array.isArray(given) ? options : given)?.shell ? firstWord(file) : file);
  });
  watchBefore(child_process, 'execFileSync', (_, [file]) => starting(file));
  watchBefore(child_process, 'execSync', (_, [command]) => starting(firstWord(command)));
}

/** A person knows the program in a shell's command, not the shell. */
function programOf(file, given) {
  return /(^|\/)sh$/.test(String(file)) && given?.[1] === '-c' ? firstWord(given[2]) : file;
}

const firstWord = (command) => String(command).trim().split(/\s/, 1)[0];
