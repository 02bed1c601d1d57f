// The program that runs one TypeScript or JavaScript agent file, under Node and Deno.
//
// The host owns the other ends of two sockets: descriptor 3 asks one question at a time and gets one answer each,
// descriptor 4 carries what the agent asks of the host. A frame is a big-endian u32 length and one JSON object.
// Standard output and error belong to the agent and never carry a frame.

import { Buffer } from 'node:buffer';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { BasicAgent, giveContext, slushOf } from './basic_agent.mjs';
import { DEPTH_MAX, depthOf, describeModule } from './describe.mjs';
import { complain, failure, importFailure, lineOf, messageOf, source, stackOf } from './failure.mjs';
import { begin as beginWatching, report } from './watching.mjs';
import { workspaceOf } from './workspace.mjs';

const CHANNEL_FD = 3;
const HOST_CALLS_FD = 4;
/** Largest frame either side accepts. */
const FRAME_BYTES_MAX = 64 << 20;
/** Variables that say that computers are reached through a proxy. */
const HAS_PROXY = ['HTTP_PROXY', 'http_proxy', 'HTTPS_PROXY', 'https_proxy'];

// Kept before any agent code runs, so that replacing the globals cannot break the channel.
const { parse, stringify } = JSON;
const exitProcess = globalThis.Deno ? Deno.exit.bind(Deno) : process.exit.bind(process);

/** Name → `{ agent, systemContext }`. */
const agents = new Map();
let resultBytesMax = FRAME_BYTES_MAX;
let isLoading = true;
/** Number of the question that waits for its answer. */
let question = null;

// ---- frames ----

/** JSON text. Half of a surrogate pair, legal in JavaScript but in no other language's text, is replaced. */
function toJson(value) {
  const text = stringify(value) ?? 'null';
  if (!text.includes('\\ud')) return text;
  return text.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape, half) => (half ? '\\ufffd' : escape));
}

function encode(message) {
  const text = toJson(message);
  const length = Buffer.byteLength(text);
  if (length > FRAME_BYTES_MAX) return null;
  const frame = Buffer.allocUnsafe(4 + length);
  frame.writeUInt32BE(length, 0);
  frame.write(text, 4);
  return frame;
}

/** Calls `take` with every message that arrives; closes the socket with an error at one that is no message. */
function receive(socket, take) {
  let waiting = [];
  let held = 0;
  let needed = 4;
  socket.on('data', (data) => {
    let chunk = data;
    if (held > 0) {
      waiting.push(chunk);
      held += chunk.length;
      if (held < needed) return;
      chunk = Buffer.concat(waiting, held);
      waiting = [];
      held = 0;
    }
    let start = 0;
    needed = 4;
    while (chunk.length - start >= 4) {
      const length = chunk.readUInt32BE(start);
      if (length > FRAME_BYTES_MAX) {
        socket.destroy(new Error(`a frame of ${length} bytes`));
        return;
      }
      const end = start + 4 + length;
      if (end > chunk.length) {
        needed = 4 + length;
        break;
      }
      try {
        const message = parse(chunk.toString('utf8', start + 4, end));
        const contextEnd = end + (message.context_bytes ?? 0);
        if (contextEnd > chunk.length) {
          needed = contextEnd - start;
          break;
        }
        if (contextEnd > end) message.context = chunk.toString('utf8', end, contextEnd);
        start = contextEnd;
        take(message);
      } catch (error) {
        socket.destroy(error);
        return;
      }
    }
    if (start < chunk.length) {
      waiting = [chunk.subarray(start)];
      held = chunk.length - start;
    }
  });
}

// ---- ending the process ----

class ExitRequest extends Error {}

/** Stands in for `process.exit`. The answer goes out before the throw, so that catching it changes nothing. */
function refuseExit(code) {
  const request = new ExitRequest(`exit(${code ?? ''}) was called`);
  complain(stackOf(request));
  if (isLoading) {
    sendFailed(failure('exit_at_import', 'the file called exit while it was loaded', lineOf(request)));
  } else if (question !== null) {
    answerError(question, failure('agent_exited', `the agent called exit(${code ?? ''})`, lineOf(request)));
  }
  throw request;
}

function guardExit() {
  process.exit = refuseExit;
  if (globalThis.Deno) Deno.exit = refuseExit;
  syncBuiltinESMExports();
}

// ---- answers ----

let hasReported = false;

function sendFailed(details) {
  if (hasReported) return;
  hasReported = true;
  channel.write(encode({ op: 'failed', ...details, ...report() }));
}

function answer(id, message) {
  if (question !== id) return;
  const noticed = report();
  const frame = encode(noticed === null ? message : { ...message, ...noticed });
  if (frame === null) {
    answerError(id, { ...failure('result_too_large', 'the result does not fit into one frame'), ...noticed });
    return;
  }
  question = null;
  channel.write(frame);
}

function answerError(id, details) {
  if (question !== id) return;
  question = null;
  channel.write(encode({ op: 'error', id, ...details, ...report() }));
}

function answerRaised(id, error) {
  if (question !== id) return;
  complain(stackOf(error));
  answerError(id, failure('agent_raised', messageOf(error), lineOf(error)));
}

function answerResult(id, agent, result) {
  if (question !== id) return;
  try {
    const output = typeof result === 'string' ? result : toJson(result);
    // A character takes at most three bytes, so most results need not be measured.
    if (output.length * 3 > resultBytesMax && Buffer.byteLength(output) > resultBytesMax) {
      const message = `the result has ${Buffer.byteLength(output)} bytes, ${resultBytesMax} are allowed`;
      answerError(id, failure('result_too_large', message));
      return;
    }
    const slush = slushOf(result);
    if (agent instanceof BasicAgent) agent.lastDataSlush = slush;
    const isSent = typeof result !== 'string' && slush !== null && depthOf(slush) <= DEPTH_MAX;
    answer(id, { op: 'result', id, output, slush: isSent ? slush : undefined });
  } catch (error) {
    answerRaised(id, error);
  }
}

// ---- questions ----

/** Runs `ask` and answers with what it returns, without an extra turn of the event loop when that is no promise. */
function answerWith(id, entry, ask) {
  question = id;
  try {
    const result = ask(entry);
    if (typeof result?.then === 'function') {
      result.then(
        (value) => answerResult(id, entry.agent, value),
        (error) => answerRaised(id, error),
      );
    } else {
      answerResult(id, entry.agent, result);
    }
  } catch (error) {
    answerRaised(id, error);
  }
}

function take(message) {
  if (message.op === 'start') {
    load(message).catch((error) => sendFailed(importFailure(error)));
    return;
  }
  const { id } = message;
  const entry = agents.get(message.agent);
  if (entry === undefined) {
    question = id;
    answerError(id, failure('unknown_agent', `the file has no agent ${message.agent}`));
  } else if (message.op === 'perform') {
    answerWith(id, entry, ({ agent }) => {
      giveContext(agent, message.context);
      // In place of one in the arguments: those may be a model's guess.
      if (message.user_guid !== undefined) message.arguments.user_guid = message.user_guid;
      return agent.perform(message.arguments);
    });
  } else if (message.op === 'system_context') {
    answerSystemContext(id, entry, message.context);
  } else {
    throw new Error(`an unknown operation ${message.op}`);
  }
}

async function answerSystemContext(id, { agent, systemContext }, context) {
  question = id;
  try {
    giveContext(agent, context);
    const text = (await systemContext?.call(agent)) ?? '';
    answer(id, { op: 'result', id, output: typeof text === 'string' ? text : toJson(text) });
  } catch (error) {
    answerRaised(id, error);
  }
}

// ---- loading ----

async function load(start) {
  source.file = start.file;
  source.url = pathToFileURL(start.file).href;
  source.modulePath = start.module;
  source.moduleUrl = pathToFileURL(start.module).href;
  resultBytesMax = Math.min(start.limits.result_mb * 2 ** 20, FRAME_BYTES_MAX);
  for (const name of Object.keys(process.env)) delete process.env[name];
  Object.assign(process.env, start.environment);
  if (HAS_PROXY.some((name) => start.environment[name])) (await import('./proxied.mjs')).useProxy(start.environment);
  process.chdir(start.working_directory);
  await beginWatching(start.bounds);
  process.setSourceMapsEnabled?.(true);
  globalThis.BasicAgent = BasicAgent;
  globalThis.babelHelpers = { decorate, decorateParam };
  globalThis.roost = Object.freeze({ callModel, ...workspaceOf(start.data, start.own, askHost) });
  guardExit();

  let module;
  try {
    module = await import(source.moduleUrl);
  } catch (error) {
    complain(stackOf(error));
    sendFailed(importFailure(error));
    return;
  }
  const told = await describeModule(module, agents);
  if (told.agents.length === 0 && told.failures.length === 0) {
    sendFailed(failure('no_agent', 'no exported class has perform(), and there is no createAgent()'));
    return;
  }
  isLoading = false;
  if (hasReported) return;
  hasReported = true;
  const frame = encode({ op: 'loaded', ...told, ...report() });
  channel.write(frame ?? encode({ op: 'failed', ...failure('import_failed', 'the metadata is too large') }));
}

// ---- what decorators become ----

function decorate(decorators, target, key, descriptor) {
  const isMember = arguments.length > 2;
  let result = target;
  if (isMember) result = descriptor === null ? Object.getOwnPropertyDescriptor(target, key) : descriptor;
  for (const decorator of decorators.toReversed()) {
    result = (isMember ? decorator(target, key, result) : decorator(result)) || result;
  }
  if (isMember && result) Object.defineProperty(target, key, result);
  return result;
}

const decorateParam = (index, decorator) => (target, key) => decorator(target, key, index);

// ---- host calls ----

let hostCalls = null;
let isHostGone = false;
let hostCallNumber = 0;
const waitingCalls = new Map();

function openHostCalls() {
  const socket = new net.Socket({ fd: HOST_CALLS_FD, readable: true, writable: true });
  const end = () => {
    isHostGone = true;
    for (const { reject } of waitingCalls.values()) reject(hostGone());
    waitingCalls.clear();
  };
  receive(socket, ({ id, result, error }) => {
    const waiting = waitingCalls.get(id);
    waitingCalls.delete(id);
    if (error) waiting?.reject(hostError(error.reason, error.message));
    else waiting?.resolve(result);
  });
  for (const event of ['end', 'error', 'close']) socket.on(event, end);
  socket.unref();
  return socket;
}

const hostGone = () => hostError('host_unreachable', 'the host is gone');

function hostError(reason, message) {
  return Object.assign(new Error(message), { reason });
}

function askHost(method, params) {
  return new Promise((resolve, reject) => {
    hostCalls ??= openHostCalls();
    if (isHostGone) throw hostGone();
    const id = ++hostCallNumber;
    const frame = encode({ id, method, params });
    if (frame === null) throw hostError('bad_arguments', 'the question does not fit into one frame');
    waitingCalls.set(id, { resolve, reject });
    hostCalls.write(frame);
  });
}

/** Asks the host's model; `options` may name a `model` and give `tools`. */
const callModel = (messages, { model, tools } = {}) => askHost('model.complete', { messages, model, tools });

// ---- start ----

process.on('uncaughtException', (error) => {
  // Deno refuses some things where no code of the agent can catch it, which would then wait for ever.
  if (globalThis.Deno && error instanceof Deno.errors.NotCapable && question !== null) answerRaised(question, error);
  else complain(`uncaught: ${stackOf(error)}`);
});
process.on('unhandledRejection', (error) => complain(`unhandled rejection: ${stackOf(error)}`));

const channel = new net.Socket({ fd: CHANNEL_FD, readable: true, writable: true });
receive(channel, take);
channel.on('error', (error) => complain(stackOf(error)));
// The host is gone or wants this process gone; there is nobody left to answer.
for (const event of ['end', 'error', 'close']) channel.on(event, () => exitProcess(0));
