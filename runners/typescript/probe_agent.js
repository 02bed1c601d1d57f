// SandboxProbe: tries to escape from a worker, one way per probe, and says whether it worked. For Node and Deno.
//
// A probe returns what it got when the forbidden thing really worked and throws when it did not; nothing is concluded
// from the text of an error. It harms nothing where it does work and reports how much it read, never what. Neither
// runtime makes raw system calls itself: Deno calls the C library, and a child with Perl makes those that would change
// the process that makes them, and all of them for Node. Where there is no Perl, these are skipped.

import { Buffer } from 'node:buffer';
import { spawn, spawnSync } from 'node:child_process';
import dgram from 'node:dgram';
import dns from 'node:dns';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { Worker } from 'node:worker_threads';

const PROBE_MS_MAX = 2000;
/** Shorter than a probe may take, so that a silent peer is told apart from a probe that hangs. */
const NETWORK_MS_MAX = 1500;
const DAEMON_SECONDS = 60;
const SAW_CHARACTERS_MAX = 300;
const DESCRIPTORS_MAX = 256;

/** What a caller may give, with the default. A probe is skipped when it needs one that has neither. */
const TARGETS = {
  host_pid: process.ppid || 1,
  host_pid_namespace: undefined,
  host_address: undefined,
  ssh_path: undefined,
  database: path.join(process.env.ROOST_HOME ?? '/nonexistent', 'roost.db'),
  other_folder: undefined,
  outside_file: undefined,
  movable_file: undefined,
  outside_path: '/var/tmp/roost-probe',
  home_folder: undefined,
  device_paths: '/dev/kmsg /dev/mem /dev/sda /dev/vda /dev/nvme0n1 /dev/kvm /dev/fuse /dev/net/tun',
  limit_megabytes: undefined,
  megabytes: undefined,
  own_pids: [],
  pid_file: undefined,
  socket_path: '/run/docker.sock',
  socket_name: undefined,
  datagram_path: undefined,
  udp_address: '127.0.0.1:9',
  dns_name: 'example.com',
  tcp_address: 'example.com:80',
  ip_address: '1.1.1.1:443',
  other_url: 'http://example.com/',
  private_address: '169.254.169.254:80',
  shm_key: undefined,
  queue_name: undefined,
};

/** The attempt came to nothing without an error of the operating system. */
class Denied extends Error {}
/** The attempt cannot be made here. */
class Skipped extends Error {}

// ---- running a probe ----

async function attempt(name, given) {
  const targets = { ...TARGETS, ...Object.fromEntries(Object.entries(given).filter(([, value]) => value != null)) };
  let folder = null;
  const tools = {
    /** The target of this name. */
    target(key) {
      if (targets[key] === undefined) throw new Skipped(`no target ${key}`);
      return targets[key];
    },
    optional: (key) => targets[key],
    /** A path in a folder of the probe's own. */
    own(entry) {
      folder ??= fs.mkdtempSync(path.join(os.tmpdir(), 'roost-probe-'));
      return path.join(folder, entry);
    },
    hostPid() {
      if (Number(targets.host_pid) === process.pid) throw new Skipped('host_pid is the number of this worker');
      return Number(targets.host_pid);
    },
  };
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Denied(`nothing happened for ${PROBE_MS_MAX} ms`)), PROBE_MS_MAX);
  });
  let outcome;
  try {
    if (!Object.hasOwn(PROBES, name)) throw new Skipped('there is no such probe');
    const got = await Promise.race([(async () => PROBES[name](tools))(), late]);
    outcome = typeof got === 'string' ? { escaped: true, saw: oneLine(got) } : got;
  } catch (error) {
    outcome = { escaped: false, saw: error instanceof Skipped ? 'not tried' : oneLine(textOf(error)) };
    if (error instanceof Skipped) outcome.skipped = error.message;
  } finally {
    clearTimeout(timer);
    if (folder) fs.rmSync(folder, { recursive: true, force: true });
  }
  if (outcome.escaped && OF_HOST.has(name) && isElsewhere(targets.host_pid_namespace)) {
    // The number means a process of this sandbox, whatever was done to it.
    outcome = { ...outcome, escaped: false, saw: `not the host but its namesake in here: ${outcome.saw}` };
  }
  return { probe: name, ...outcome };
}

function isElsewhere(namespace) {
  const own = orNothing(() => fs.readlinkSync('/proc/self/ns/pid'));
  return namespace !== undefined && own !== '' && own !== namespace;
}

const oneLine = (text) => text.split(/\s+/).join(' ').slice(0, SAW_CHARACTERS_MAX);

function textOf(error) {
  if (error instanceof Denied) return error.message;
  const message = String(error?.message ?? error);
  return error?.code && !message.includes(error.code) ? `${error.code}: ${message}` : message;
}

function orNothing(action) {
  try {
    return action();
  } catch {
    return '';
  }
}

/** The result for the first choice that works; else all the errors in one. */
async function firstOf(choices, action) {
  const errors = new Set();
  for (const choice of choices) {
    try {
      return await action(choice);
    } catch (error) {
      if (error instanceof Skipped) throw error;
      errors.add(textOf(error));
    }
  }
  throw new Denied([...errors].join('; '));
}

// ---- raw system calls ----

/** By name: the number on x86_64 and on aarch64. */
const SYSTEM_CALLS = {
  adjtimex: [159, 171], bpf: [321, 280], chroot: [161, 51], close: [3, 57], connect: [42, 203],
  execveat: [322, 281], fsopen: [430, 430], io_uring_setup: [425, 425], ioctl: [16, 29], keyctl: [250, 219],
  memfd_create: [319, 279], mknodat: [259, 33], mount: [165, 40], mq_open: [240, 180], openat: [257, 56],
  perf_event_open: [298, 241], pidfd_getfd: [438, 438], pidfd_open: [434, 434], process_vm_readv: [310, 270],
  ptrace: [101, 117], read: [0, 63], sendto: [44, 206], setgid: [106, 144], setgroups: [116, 159],
  sethostname: [170, 161], setns: [308, 268], setsid: [112, 157], settimeofday: [164, 170], setuid: [105, 146],
  shmat: [30, 196], shmdt: [67, 197], shmget: [29, 194], socket: [41, 198], socketpair: [53, 199],
  umount2: [166, 39], unshare: [272, 97], userfaultfd: [323, 282], write: [1, 64],
};
const MACHINE = { x64: 0, arm64: 1 }[process.arch];
/** Calls that give a descriptor. */
const OPENS = /^(bpf|io_uring_setup|mq_open|perf_event_open|pidfd_|socket|userfaultfd)/;
const AT_FDCWD = -100;
const [CLONE_NEWNS, CLONE_NEWUSER, CLONE_NEWNET] = [0x00020000, 0x10000000, 0x40000000];

/** As an argument: the result of an earlier call; of a pair of sockets the first. */
const result = (index) => ({ result: index });
/** As an argument: an I/O vector with one fresh buffer of this size. */
const vector = (bytes) => ({ vector: bytes });
const words = (...values) => Buffer.from(new Uint32Array(values).buffer);
const text = (value) => Buffer.from(`${value}\0`);

const PERL = `
  my (@results, @kept);
  for my $call (@ARGV) {
    my ($name, $number, @given) = split /,/, $call;
    # The leader of a group cannot begin a session.
    if ($name eq 'setsid' && fork) { wait; exit($? >> 8) }
    my @ready = map { /^x(.*)/ ? pack('H*', $1) : /^r(.*)/ ? $results[$1] : /^v(.*)/ ? do {
      push @kept, "\\0" x $1; pack('Q2', unpack('Q', pack('P', $kept[-1])), $1) } : $_ + 0 } @given;
    my $got = syscall($number, @ready);
    if ($got == -1) { print "$name: $!"; exit 1 }
    push @results, $name eq 'socketpair' ? unpack('L', $ready[3]) : $got;
  }
  print "@results";
`;

/** Makes the calls in a child that ends with them, or becomes a program that ends with `status`. */
function callInChild(calls, status = 0) {
  const given = calls.map(([name, ...values]) => [name, numberOf(name), ...values.map(asText)].join(','));
  const child = spawnSync('perl', ['-e', PERL, ...given], { timeout: NETWORK_MS_MAX, killSignal: 'SIGKILL' });
  if (child.error?.code === 'ETIMEDOUT') throw new Denied('the calls did not return');
  if (child.error) throw new Skipped(`a raw system call needs Perl: ${textOf(child.error)}`);
  if (child.status === null) throw new Denied(`the calls ended with ${child.signal}`);
  const said = String(child.stdout);
  const results = said.split(' ');
  if (child.status === status && (status !== 0 || (said && results.length === calls.length))) return results;
  if (child.status === 1 && said) throw new Denied(said);
  throw new Skipped(`a raw system call needs Perl, which ended with ${child.status}: ${oneLine(String(child.stderr))}`);
}

function asText(value) {
  if (Buffer.isBuffer(value)) return `x${value.toString('hex')}`;
  if (value.vector) return `v${value.vector}`;
  return value.result === undefined ? String(value) : `r${value.result}`;
}

function numberOf(name) {
  if (MACHINE === undefined) throw new Skipped(`system call numbers of ${process.arch} are not known`);
  return SYSTEM_CALLS[name][MACHINE];
}

let library;

/** The C library as Deno can call it, or null. */
function openLibrary() {
  const word = { parameters: Array(7).fill('i64'), result: 'i64' };
  const symbols = { syscall: word, __errno_location: { parameters: [], result: 'pointer' } };
  for (const name of globalThis.Deno?.dlopen ? ['libc.so.6', 'libc.so'] : []) {
    const opened = orNothing(() => Deno.dlopen(name, symbols));
    if (opened) return opened.symbols;
  }
  return null;
}

/** Makes the calls in this process where that is possible, else in a child. Only for calls that change nothing here. */
function call(calls) {
  library ??= openLibrary();
  if (library === null) return callInChild(calls);
  const results = [];
  const kept = [];
  const pointer = (buffer) => {
    kept.push(buffer);
    return BigInt(Deno.UnsafePointer.value(Deno.UnsafePointer.of(buffer)));
  };
  const asWord = (value) => {
    if (Buffer.isBuffer(value)) return pointer(new Uint8Array(value));
    if (value.vector) return pointer(new BigUint64Array([pointer(new Uint8Array(value.vector)), BigInt(value.vector)]));
    return BigInt(value.result === undefined ? value : results[value.result]);
  };
  try {
    for (const [name, ...values] of calls) {
      const ready = [...values.map(asWord), ...Array(6).fill(0n)].slice(0, 6);
      const got = library.syscall(BigInt(numberOf(name)), ...ready);
      if (got === -1n) {
        const number = new Deno.UnsafePointerView(library.__errno_location()).getInt32();
        throw new Denied(`${name}: ${errnoName(number)}`);
      }
      results.push(name === 'socketpair' ? new DataView(kept.at(-1).buffer).getUint32(0, true) : got);
    }
    return results;
  } finally {
    const opened = results.filter((_, index) => OPENS.test(calls[index][0]));
    for (const descriptor of opened) library.syscall(BigInt(numberOf('close')), BigInt(descriptor), 0n, 0n, 0n, 0n, 0n);
  }
}

const errnoName = (number) => Object.entries(os.constants.errno).find(([, value]) => value === number)?.[0] ?? number;

const made = (what, calls) => `${what} as ${call(calls).at(-1)}`;

/** The address of a Unix socket; an abstract name begins with NUL. */
function unixAddress(name) {
  const bytes = Buffer.from(name);
  return Buffer.concat([Buffer.from([1, 0]), bytes, Buffer.alloc(name.startsWith('\0') ? 0 : 1)]);
}

/** A program that ends with status 42, for x86_64 or aarch64. */
function smallProgram() {
  const code = Buffer.from(MACHINE ? '400580d2a80b80d2010000d4' : 'bf2a000000b83c0000000f05', 'hex');
  const file = Buffer.alloc(120);
  file.write('7f454c460201010000000000000000000200', 'hex');
  file.writeUInt16LE(MACHINE ? 183 : 62, 18);
  file.writeUInt32LE(1, 20);
  file.writeUInt32LE(0x400078, 24);
  file.writeUInt32LE(64, 32);
  for (const [value, at] of [[64, 52], [56, 54], [1, 56], [1, 64], [5, 68]]) file.writeUInt16LE(value, at);
  for (const at of [80, 88]) file.writeUInt32LE(0x400000, at);
  for (const at of [96, 104]) file.writeUInt32LE(120 + code.length, at);
  file.writeUInt32LE(0x1000, 112);
  return Buffer.concat([file, code]);
}

// ---- what several probes do ----

function read(file) {
  const bytes = fs.readFileSync(file).length;
  if (bytes === 0) throw new Denied(`nothing in ${file}`);
  return `read ${bytes} bytes of ${file}`;
}

function openOnly(file, flags = fs.constants.O_RDONLY) {
  fs.closeSync(fs.openSync(file, flags | fs.constants.O_NONBLOCK));
  return `opened ${file}`;
}

function create(file) {
  // Exclusive: what is there already is never touched.
  fs.closeSync(fs.openSync(file, 'wx'));
  fs.unlinkSync(file);
  return `created ${file}`;
}

/** Whether a file came to have a bit that changes whose it acts as. */
function specialBits(file) {
  const bits = fs.statSync(file).mode & 0o7000;
  if (bits === 0) throw new Denied('the bits were dropped');
  return `${file} has ${bits.toString(8)}`;
}

/** The home folder of the account, which is not what HOME says in a worker. */
const accountHome = () => os.userInfo().homedir;

function sendSignals(pid) {
  if (pid === 0) throw new Denied('the process is outside of the pid namespace');
  process.kill(pid, 0);
  // Ignored by whoever did not ask for it.
  process.kill(pid, 'SIGURG');
  return `sent SIGURG to ${pid}`;
}

function addressIn(pid, address) {
  if (address !== undefined) return BigInt(address);
  const maps = orNothing(() => fs.readFileSync(`/proc/${pid}/maps`, 'utf8'));
  return BigInt(`0x${maps.split('-')[0] || '400000'}`);
}

function hostAndPort(address) {
  const at = address.lastIndexOf(':');
  return { host: address.slice(0, at).replace(/[[\]]/g, ''), port: Number(address.slice(at + 1)) };
}

/** Connects, sends, and gives what comes back first, or null when nothing was sent. */
function connect(where, message = null) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(where);
    const end = (settle, value) => {
      socket.destroy();
      settle(value);
    };
    socket.setTimeout(NETWORK_MS_MAX / 2, () => end(reject, new Denied('no answer in time')));
    socket.on('error', (error) => end(reject, error));
    socket.on('data', (data) => end(resolve, String(data)));
    socket.on('end', () => end(reject, new Denied('closed without an answer')));
    socket.on('connect', () => (message === null ? end(resolve, null) : socket.write(message)));
  });
}

async function connected(where) {
  await connect(where);
  return `connected to ${JSON.stringify(where)}`;
}

async function askProxy(method, target, host) {
  const names = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];
  const named = names.map((name) => process.env[name]).find(Boolean);
  if (!named) throw new Skipped('HTTP_PROXY is not set');
  const proxy = new URL(named);
  const account = Buffer.from(decodeURIComponent(`${proxy.username}:${proxy.password}`)).toString('base64');
  const authorization = proxy.username ? `Proxy-Authorization: Basic ${account}\r\n` : '';
  const head = `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${authorization}Connection: close\r\n\r\n`;
  const answer = await connect({ host: proxy.hostname, port: Number(proxy.port || 80) }, head);
  const status = answer.split(' ')[1];
  if (status !== '200') throw new Denied(`the proxy answered ${status} for ${target}`);
  return `the proxy answered 200 for ${target}`;
}

function send(address) {
  const { host, port } = hostAndPort(address);
  const isOpen = !globalThis.Deno || Deno.permissions.querySync({ name: 'net' }).state === 'granted';
  if (!isOpen) return ask(host, port);
  return new Promise((resolve, reject) => {
    const socket = dgram.createSocket('udp4');
    const end = (error, bytes) => {
      orNothing(() => socket.close());
      return error ? reject(error) : resolve(`sent ${bytes} bytes to ${address}`);
    };
    socket.on('error', end);
    socket.send('probe', port, host, end);
  });
}

/** Where Deno allows no network it refuses datagrams in a turn of its own, where nobody could catch it; a question to a
 * name server is one that can be caught. */
async function ask(ipAddr, port) {
  await Deno.resolveDns('probe.invalid', 'A', { nameServer: { ipAddr, port } });
  return `sent a question to ${ipAddr}:${port}`;
}

function readInThread(file) {
  const count = `require('node:fs').readFileSync(${JSON.stringify(file)}).length`;
  const code = `require('node:worker_threads').parentPort.postMessage(${count})`;
  return new Promise((resolve, reject) => {
    const thread = new Worker(code, { eval: true });
    thread.on('error', reject);
    thread.on('message', (bytes) => {
      thread.terminate();
      resolve(`read ${bytes} bytes of ${file} in another thread`);
    });
  });
}

function fillDisk({ target, optional, own }) {
  const limit = Number(target('limit_megabytes'));
  const wanted = Number(optional('megabytes') ?? limit + 1);
  const deadline = Date.now() + NETWORK_MS_MAX;
  const chunk = Buffer.alloc(1 << 20, 'probe');
  let [written, end] = [0, 'that was all'];
  try {
    // Many files, as a limit on the size of one does not limit the disk.
    for (; written < wanted && Date.now() < deadline; written += 1) {
      fs.appendFileSync(own(String(written >> 4)), chunk);
    }
  } catch (error) {
    end = textOf(error);
  }
  const saw = oneLine(`wrote ${written} MiB, ${limit} are allowed: ${end}`);
  return { escaped: written > limit, saw, megabytes: written };
}

function procOthers({ target }) {
  const own = new Set([process.pid, ...target('own_pids').map(Number)]);
  const pids = fs.readdirSync('/proc').filter((name) => /^\d+$/.test(name)).map(Number);
  // In rising order: a process has nearly always a higher number than its parent.
  const others = pids.filter((pid) => !own.has(pid)).sort((left, right) => left - right);
  for (const pid of others) {
    const status = orNothing(() => fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
    if (own.has(Number(/^PPid:\t(\d+)$/m.exec(status)?.[1]))) own.add(pid);
  }
  const foreign = others.filter((pid) => !own.has(pid));
  if (foreign.length === 0) throw new Denied('there is no process but our own');
  return firstOf(foreign.slice(0, 50), (pid) => read(`/proc/${pid}/cmdline`));
}

/** Leaves a process behind; whether it lives on is for the caller to see. */
async function leaveDaemon({ target }) {
  const file = target('pid_file');
  const script = `(setsid sh -c 'echo $$ > "$0" && exec sleep ${DAEMON_SECONDS}' "$0" &)`;
  const child = spawn('sh', ['-c', script, file], { detached: true, stdio: 'ignore' });
  await new Promise((resolve, reject) => child.on('exit', resolve).on('error', reject));
  const deadline = Date.now() + NETWORK_MS_MAX / 2;
  let pid = 0;
  while (pid === 0 && Date.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 10));
    pid = Number(orNothing(() => fs.readFileSync(file, 'utf8')));
  }
  return { escaped: null, saw: `left process ${pid || 'without a trace'}`, pid };
}

function listDescriptors() {
  const names = orNothing(() => fs.readdirSync('/proc/self/fd'));
  if (!names && globalThis.Deno) throw new Skipped('Deno sees no descriptors without /proc');
  const found = {};
  for (const descriptor of names || Array.from({ length: DESCRIPTORS_MAX }, (_, index) => String(index))) {
    const link = orNothing(() => fs.readlinkSync(`/proc/self/fd/${descriptor}`));
    const stat = names ? null : orNothing(() => fs.fstatSync(Number(descriptor)));
    const kind = stat && (stat.isSocket() || stat.isFIFO() ? 'pipe:' : `mode ${stat.mode.toString(8)}`);
    if (Number(descriptor) > 2 && (link || kind)) found[descriptor] = link || kind;
  }
  // The last two are the listing of the folder itself and what Deno remembers about files it has run.
  const harmless = /^(socket:|pipe:|anon_inode:\[event|\/dev\/null$|\/proc\/\d+\/fd$|.*_cache_v\d+(-wal|-shm)?$)/;
  const standard = [0, 1, 2].map((descriptor) => orNothing(() => fs.readlinkSync(`/proc/self/fd/${descriptor}`)));
  const isHarmless = (link) => harmless.test(link) || standard.includes(link);
  const odd = Object.entries(found).filter(([, link]) => !isHarmless(link)).map((entry) => entry.join(' is '));
  return { escaped: odd.length > 0, saw: oneLine(odd.join(', ') || 'only sockets and pipes'), descriptors: found };
}

function attachMemory({ optional }) {
  const [key, queue] = [optional('shm_key'), optional('queue_name')];
  if (key === undefined && queue === undefined) throw new Skipped('no target shm_key or queue_name');
  const attach = [['shmget', Number(key), 0, 0], ['shmat', result(0), 0, 0o10000], ['shmdt', result(1)]];
  const open = [['mq_open', text(String(queue).replace(/^\//, '')), 0, 0, 0]];
  const ways = [...(key === undefined ? [] : [attach]), ...(queue === undefined ? [] : [open])];
  return firstOf(ways, (calls) => `${calls[0][0]} gave ${call(calls)[0]}`);
}

function mountSomething({ own }) {
  const folder = text(own(''));
  const here = [['mount', text('none'), folder, text('tmpfs'), 0, 0], ['umount2', folder, 2]];
  const seal = ['mount', text('none'), text('/'), 0, 0x4000 | (1 << 18), 0];
  const separate = (flags) => [['unshare', flags], seal, ...here];
  const ways = [separate(CLONE_NEWNS), separate(CLONE_NEWUSER | CLONE_NEWNS), here, [['fsopen', text('tmpfs'), 0]]];
  return firstOf(ways, (calls) => `${calls.at(-1)[0]} gave ${callInChild(calls).at(-1)}`);
}

const inChild = (what, ...ways) => firstOf(ways, (calls) => `${what}: ${callInChild(calls).join(' ')}`);

function pushInput() {
  const terminal = [
    ['setsid'],
    ['openat', AT_FDCWD, text('/dev/ptmx'), 0o402, 0],
    ['ioctl', result(1), 0x40045431, words(0)],
    ['ioctl', result(1), 0x5441, 0o402],
    ['ioctl', result(3), 0x540e, 0],
  ];
  // The kernel looks at the lower half of the request only; a filter may have looked at all of it.
  const ways = [0x5412, 2 ** 32 + 0x5412].map((request) => ['ioctl', result(3), request, text('\n')]);
  const readBack = ['read', result(3), Buffer.alloc(8), 8];
  return inChild('pushed into the terminal', ...ways.map((push) => [...terminal, push, readBack]));
}

function runFromMemory() {
  const program = smallProgram();
  const become = ['execveat', result(0), text(''), 0, 0, 0x1000];
  callInChild([['memfd_create', text('probe'), 0], ['write', result(0), program, program.length], become], 42);
  return 'ran a program from memory';
}

/** Why a program did not do what it was asked for. */
function reasonOf({ stderr, error, signal, status }) {
  return String(stderr ?? '').trim() || (error && textOf(error)) || `it ended with ${signal ?? status ?? 'no status'}`;
}

function runDropped({ own }) {
  const program = own('true');
  fs.copyFileSync(fs.realpathSync('/bin/true'), program);
  fs.chmodSync(program, 0o700);
  const child = spawnSync(program, [], { timeout: NETWORK_MS_MAX, killSignal: 'SIGKILL' });
  if (child.status !== 0) throw new Denied(reasonOf(child));
  return `ran ${program}`;
}

function enterGroup(group) {
  const file = `/sys/fs/cgroup/${group}cgroup.procs`;
  // A short-lived process and no redirection that could make a plain file of that name.
  const given = [`of=${file}`, 'conv=nocreat,notrunc', 'status=none'];
  const child = spawnSync('dd', given, { input: '0', timeout: NETWORK_MS_MAX });
  if (child.status !== 0) throw new Denied(reasonOf(child));
  return `entered ${file}`;
}

// ---- the probes ----

// Without ptrace_host: tracing counts whoever was traced.
const OF_HOST = new Set('host_environ host_memory process_vm_readv pidfd_getfd kill_host setns'.split(' '));
const PERF_ATTRIBUTES = Buffer.concat([words(1, 112), Buffer.alloc(32), Buffer.from([0x60]), Buffer.alloc(71)]);
const OTHER_USER = process.getuid?.() === 0 ? 65533 : 0;

const PROBES = {
  ssh_folder: ({ optional }) => {
    const folder = optional('ssh_path') ?? path.join(accountHome(), '.ssh');
    const names = orNothing(() => fs.readdirSync(folder).sort());
    return names ? firstOf(names, (name) => read(path.join(folder, name))) : read(folder);
  },
  host_database: ({ target }) => read(target('database')),
  other_agent_folder: ({ target }) => `listed ${fs.readdirSync(target('other_folder')).length} entries`,
  symlink_out: ({ target, own }) => {
    fs.symlinkSync(target('outside_file'), own('link'));
    return read(own('link'));
  },
  hard_link_out: ({ target, own }) => {
    fs.linkSync(target('outside_file'), own('link'));
    return read(own('link'));
  },
  rename_in: ({ target, own }) => {
    const file = target('movable_file');
    fs.renameSync(file, own('moved'));
    try {
      return `moved ${file} in and ${read(own('moved'))}`;
    } finally {
      fs.renameSync(own('moved'), file);
    }
  },
  write_outside: ({ target }) => create(target('outside_path')),
  write_home: ({ optional }) => create(`${optional('home_folder') ?? accountHome()}/.roost-probe-${process.pid}`),
  stat_outside: ({ target }) => `saw ${fs.statSync(target('outside_file')).size} bytes`,
  chmod_outside: ({ target }) => fs.chmodSync(target('outside_file'), 0o666) ?? 'changed its mode',
  utime_outside: ({ target }) => fs.utimesSync(target('outside_file'), 0, 0) ?? 'changed its times',
  setuid_chmod: ({ own }) => {
    fs.writeFileSync(own('mode'), '');
    fs.chmodSync(own('mode'), 0o4755);
    return specialBits(own('mode'));
  },
  setuid_open: ({ own }) => {
    fs.closeSync(fs.openSync(own('open'), 'wx', 0o4755));
    return specialBits(own('open'));
  },
  core_pattern: () => openOnly('/proc/sys/kernel/core_pattern', fs.constants.O_WRONLY),
  sysrq: () => openOnly('/proc/sysrq-trigger', fs.constants.O_WRONLY),
  devices: ({ target }) => firstOf(target('device_paths').split(' '), (file) => openOnly(file)),
  mknod: ({ own }) => made('made a device', [['mknodat', AT_FDCWD, text(own('null')), 0o20600, 0x103]]),
  fill_disk: fillDisk,
  worker_thread: ({ target }) => readInThread(target('outside_file')),

  host_environ: ({ hostPid }) => read(`/proc/${hostPid()}/environ`),
  host_memory: ({ hostPid }) => openOnly(`/proc/${hostPid()}/mem`),
  process_vm_readv: ({ hostPid, optional }) => {
    const remote = Buffer.from(new BigUint64Array([addressIn(hostPid(), optional('host_address')), 16n]).buffer);
    return made('bytes of the host', [['process_vm_readv', hostPid(), vector(16), 1, remote, 1, 0]]);
  },
  pidfd_getfd: ({ hostPid }) => {
    return made('took descriptor 0', [['pidfd_open', hostPid(), 0], ['pidfd_getfd', result(0), 0, 0]]);
  },
  // Seizing does not stop the process, and it is let go when the child ends.
  ptrace_host: ({ hostPid }) => inChild('traced', [['ptrace', 0x4206, hostPid(), 0, 0]], [['ptrace', 0, 0, 0, 0]]),
  kill_host: ({ hostPid }) => sendSignals(hostPid()),
  signal_parent: () => sendSignals(process.ppid),
  proc_others: procOthers,
  daemon: leaveDaemon,

  host_socket_path: ({ target }) => connected({ path: target('socket_path') }),
  host_socket_abstract: ({ target }) => {
    const address = unixAddress(`\0${target('socket_name')}`);
    return made('connected', [['socket', 1, 1, 0], ['connect', result(0), address, address.length]]);
  },
  datagram_socketpair: ({ target }) => {
    const address = unixAddress(target('datagram_path'));
    const sent = ['sendto', result(0), text('probe'), 5, 0, address, address.length];
    return made('sent', [['socketpair', 1, 2, 0, words(0, 0)], sent]);
  },
  raw_socket: () => made('made a raw socket', [['socket', 2, 3, 1]]),
  packet_socket: () => made('made a packet socket', [['socket', 17, 3, 0]]),
  netlink_socket: () => made('made a netlink socket', [['socket', 16, 3, 0]]),
  udp_send: ({ target }) => send(target('udp_address')),
  dns_lookup: async ({ target }) => `it is ${(await dns.promises.lookup(target('dns_name'))).address}`,
  tcp_connect: ({ target }) => connected(hostAndPort(target('tcp_address'))),
  ip_literal: ({ target }) => {
    const { host, port } = hostAndPort(target('ip_address'));
    const literals = host.includes(':') ? [host] : [host, `::ffff:${host}`];
    return firstOf(literals, (literal) => connected({ host: literal, port }));
  },
  proxy_other_host: ({ target }) => askProxy('GET', target('other_url'), new URL(target('other_url')).host),
  proxy_connect_private: ({ target }) => askProxy('CONNECT', target('private_address'), target('private_address')),

  mount: mountSomething,
  unshare_user: () => inChild('made a user namespace', [['unshare', CLONE_NEWUSER]]),
  setns: ({ hostPid }) => {
    const enter = (open) => [open, ['setns', result(0), CLONE_NEWNET]];
    const ways = [['openat', AT_FDCWD, text(`/proc/${hostPid()}/ns/net`), 0, 0], ['pidfd_open', hostPid(), 0]];
    return inChild('entered the network namespace', ...ways.map(enter));
  },
  bpf: () => made('made a map', [['bpf', 0, Buffer.concat([words(2, 4, 4, 1), Buffer.alloc(112)]), 128]]),
  keyctl: () => made('got the keyring', [['keyctl', 0, -2, 1]]),
  io_uring: () => made('made a ring', [['io_uring_setup', 2, Buffer.alloc(120)]]),
  perf_event: () => made('made a counter', [['perf_event_open', PERF_ATTRIBUTES, 0, -1, -1, 0]]),
  userfaultfd: () => made('got a descriptor', [['userfaultfd', 0o2000001]]),
  dropped_binary: runDropped,
  memfd_exec: runFromMemory,
  tiocsti: pushInput,
  shared_memory: attachMemory,
  // Both ask for the right to set the clock and then change it by nothing.
  clock_set: () => {
    const ways = [['adjtimex', Buffer.concat([words(0x0100), Buffer.alloc(252)])], ['settimeofday', 0, 0]];
    return firstOf(ways, (one) => made(`${one[0]} set the clock`, [one]));
  },
  set_hostname: () => {
    return made('set the name to what it is', [['sethostname', text(os.hostname()), os.hostname().length]]);
  },
  chroot: ({ own }) => inChild('changed the root', [['chroot', text(own(''))]]),
  setuid: () => inChild('became', [['setgroups', 1, words(4)]], [['setgid', OTHER_USER]], [['setuid', OTHER_USER]]),
  cgroup_escape: () => firstOf(['', 'unified/', 'pids/', 'memory/'], enterGroup),

  inherited_descriptors: listDescriptors,
  random_state: () => {
    const value = Math.random();
    return { escaped: null, saw: `Math.random() is ${value}`, value };
  },
  foreign_modules: () => {
    const modules = Object.keys(createRequire(import.meta.url).cache ?? {});
    return { escaped: null, saw: `${modules.length} modules of others`, modules };
  },
};

export function createAgent(BasicAgent) {
  return class SandboxProbeAgent extends BasicAgent {
    constructor() {
      const properties = Object.fromEntries(Object.keys(TARGETS).map((name) => [name, { description: 'A target' }]));
      properties.probe = { type: 'string', enum: Object.keys(PROBES), description: 'Which probe; all without it' };
      properties.targets = { description: 'The targets as an object or as JSON text' };
      super('SandboxProbe', {
        name: 'SandboxProbe',
        description: 'Tries to escape from its sandbox and reports what worked.',
        parameters: { type: 'object', properties, required: [] },
      });
    }

    async perform({ probe, targets = {}, ...rest } = {}) {
      const given = { ...(typeof targets === 'string' ? JSON.parse(targets) : targets), ...rest };
      if (probe) return JSON.stringify(await attempt(probe, given));
      const outcomes = [];
      for (const name of Object.keys(PROBES)) outcomes.push(await attempt(name, given));
      return JSON.stringify(outcomes);
    }
  };
}
