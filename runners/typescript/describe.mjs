// What a module exports, turned into agents that can be called and descriptions the host can check.

import { BasicAgent, addContext } from './basic_agent.mjs';
import { Refusal, complain, failure, lineOf, messageOf, stackOf } from './failure.mjs';

/** Deepest JSON value sent: the host refuses to parse more than 128 levels, and the frame adds some. */
export const DEPTH_MAX = 100;

// Kept before any agent code runs, so that replacing the globals cannot change what is sent.
const { parse, stringify } = JSON;

/** By export name, and for CommonJS by property of `module.exports`, in alphabetical order. */
function exportsOf(module) {
  const exported = new Map();
  const whole = module.default;
  const sources = typeof whole === 'object' && whole !== null ? [whole, module] : [module];
  for (const entries of sources) {
    for (const name of Object.keys(entries)) exported.set(name, entries[name]);
  }
  return new Map([...exported].sort(([left], [right]) => (left < right ? -1 : 1)));
}

const hasPerform = (value) => typeof value === 'function' && typeof value.prototype?.perform === 'function';

/**
 * Makes one instance of everything in a module that can be an agent. Puts them into `entries`, by name as
 * `{ agent, systemContext }`, and returns what the host is told: the descriptions, and the classes that failed.
 */
export async function describeModule(module, entries) {
  const exported = exportsOf(module);
  const told = { agents: [], failures: [] };
  const seen = new Set([BasicAgent]);
  for (const [name, value] of exported) {
    if (name === 'BasicAgent' || name.startsWith('_') || !hasPerform(value) || seen.has(value)) continue;
    seen.add(value);
    await add(told, entries, value.name || name, () => new value());
  }
  const whole = exported.get('default');
  const create = exported.get('createAgent') ?? (whole?.name === 'createAgent' ? whole : undefined);
  if (typeof create === 'function' && !hasPerform(create)) {
    await add(told, entries, 'createAgent', async () => {
      const made = await create(BasicAgent);
      if (hasPerform(made)) return seen.has(made) ? null : new made();
      if (typeof made?.perform === 'function') return made;
      throw new Refusal('no_agent', 'createAgent() returned no class with perform()');
    });
  }
  return told;
}

async function add(told, entries, label, make) {
  let agent;
  let name;
  try {
    agent = await make();
    if (agent === null) return;
    name = typeof agent.name === 'string' ? agent.name : undefined;
    const description = await describe(agent, agent.constructor?.name || label);
    if (entries.has(name)) throw new Refusal('shadowed', `the file already has an agent ${name}`);
    addContext(agent);
    const systemContext = ownMethod(agent, 'systemContext', 'system_context');
    entries.set(name, { agent, systemContext });
    told.agents.push({ ...description, has_system_context: systemContext !== null });
  } catch (error) {
    const className = agent?.constructor?.name || label;
    told.failures.push({ class: className, name, ...classFailure(error) });
  }
}

function classFailure(error) {
  if (error instanceof Refusal) return failure(error.reason, error.message);
  complain(stackOf(error));
  return failure('constructor_failed', messageOf(error), lineOf(error));
}

async function describe(agent, className) {
  const { name } = agent;
  if (typeof name !== 'string' || !/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    const message = typeof name === 'string' ? `${stringify(name)} is not a tool name` : 'name is not a string';
    throw new Refusal('invalid_name', message);
  }
  if (!isObject(agent.metadata)) {
    throw new Refusal('invalid_metadata', 'metadata is not a plain object');
  }
  const metadata = parse(asJson(agent.metadata, 'metadata'));
  const parameters = metadata.parameters ?? { type: 'object', properties: {} };
  if (!isObject(parameters) || parameters.type !== 'object' || !isObject(parameters.properties)) {
    throw new Refusal('invalid_schema', 'parameters is not { type: "object", properties: { … } }');
  }
  const described = {
    name,
    class: className,
    description: typeof metadata.description === 'string' ? metadata.description : '',
    parameters,
  };
  const toTool = ownMethod(agent, 'toTool', 'to_tool');
  if (toTool !== null) described.tool = parse(asJson(await toTool.call(agent), 'the result of toTool()'));
  return described;
}

/** The first of the methods that is not the base class's own; null when the class has none. */
function ownMethod(agent, ...names) {
  for (const name of names) {
    if (typeof agent[name] === 'function' && agent[name] !== BasicAgent.prototype[name]) return agent[name];
  }
  return null;
}

function isObject(value) {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** JSON text of a value, strict where `JSON.stringify` quietly leaves things out. */
function asJson(value, what) {
  let text;
  try {
    text = stringify(value, (key, inner) => {
      if (typeof inner === 'function' || typeof inner === 'symbol') throw new Error(`${key} is a ${typeof inner}`);
      if (typeof inner === 'number' && !Number.isFinite(inner)) throw new Error(`${key} is ${inner}`);
      return inner;
    });
  } catch (error) {
    throw new Refusal('metadata_not_json', `${what}: ${messageOf(error).split('\n')[0]}`);
  }
  if (text === undefined) throw new Refusal('metadata_not_json', `${what} is undefined`);
  if (depthOf(parse(text)) > DEPTH_MAX) throw new Refusal('metadata_not_json', `${what} is nested too deeply`);
  return text;
}

/** Levels of nesting, counted no further than the limit. */
export function depthOf(value, level = 0) {
  if (typeof value !== 'object' || value === null || level > DEPTH_MAX) return level;
  let deepest = level + 1;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, depthOf(inner, level + 1));
  return deepest;
}
