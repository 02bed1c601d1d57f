// The base class of TypeScript and JavaScript agents, for Node and Deno.
//
// An agent reads `this.context` and returns text from `perform`; everything else here is convenience. The context
// arrives as JSON text and is parsed when it is first looked at, because most agents never do.

/** Per agent: `text` until the context is looked at, `value` from then on. */
const contexts = new WeakMap();

const contextProperty = {
  configurable: true,
  enumerable: false,
  get() {
    const context = contexts.get(this);
    if (context === undefined) return null;
    if (context.text !== null) {
      context.value = withOlderNames(JSON.parse(context.text));
      context.text = null;
    }
    return context.value;
  },
  set(value) {
    contexts.set(this, { text: null, value });
  },
};

/** The same layers under the names openrappter gave them. */
function withOlderNames(context) {
  context.memory_echoes ??= context.memory;
  context.query_signals ??= context.query;
  context.upstream_slush ??= context.slush;
  return context;
}

/** Gives an agent the context of its next call. */
export function giveContext(agent, text) {
  contexts.set(agent, { text, value: null });
}

/** Lets an instance of any other class read `this.context` too, unless it has a property of that name. */
export function addContext(agent) {
  if (!('context' in agent) && Object.isExtensible(agent)) {
    Object.defineProperty(agent, 'context', contextProperty);
  }
}

/** The `data_slush` of what `perform` returned, or null. */
export function slushOf(result) {
  let value = result;
  if (typeof result === 'string') {
    if (!result.includes('"data_slush"')) return null;
    try {
      value = JSON.parse(result);
    } catch {
      return null;
    }
  }
  const slush = value?.data_slush;
  return typeof slush === 'object' && slush !== null && !Array.isArray(slush) ? slush : null;
}

export class BasicAgent {
  /** The `data_slush` of the last result; the next agent of a chain takes it as `upstream_slush`. */
  lastDataSlush = null;

  constructor(name, metadata) {
    this.name = name ?? this.name ?? 'BasicAgent';
    this.metadata = metadata ?? this.metadata ?? {
      name: this.name,
      description: 'An agent that does not describe itself.',
      parameters: { type: 'object', properties: {}, required: [] },
    };
  }

  perform(_kwargs) {
    return 'This agent does not implement perform().';
  }

  /** Text for the system prompt of every turn; null for none. */
  systemContext() {
    return null;
  }

  system_context() {
    return this.systemContext();
  }

  /** The agent as a tool in the form chat models take. */
  toTool() {
    return {
      type: 'function',
      function: {
        name: this.name,
        description: this.metadata?.description ?? '',
        parameters: this.metadata?.parameters ?? { type: 'object', properties: {} },
      },
    };
  }

  to_tool() {
    return this.toTool();
  }

  /** Runs `perform` the way a chain does: upstream signals join the context, `data_slush` is kept. */
  async execute(kwargs = {}) {
    const { upstream_slush: upstream, ...rest } = kwargs;
    if (typeof upstream === 'object' && upstream !== null) {
      this.context = { ...this.context, upstream_slush: upstream, slush: upstream };
    } else if (upstream !== undefined) {
      rest.upstream_slush = upstream;
    }
    const result = await this.perform({ ...rest, _context: this.context });
    this.lastDataSlush = slushOf(result);
    return result;
  }

  /** A value of the context by its dotted path, such as `temporal.time_of_day`. */
  getSignal(path, otherwise = null) {
    let value = this.context;
    for (const key of String(path).split('.')) {
      if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return otherwise;
      value = value[key];
    }
    return value ?? otherwise;
  }

  /** Signals for the next agent, to be returned as `data_slush`. */
  slushOut({ agentName, confidence, signals, ...extra } = {}) {
    const slush = { source_agent: agentName ?? this.name, timestamp: new Date().toISOString() };
    const { orientation, temporal } = this.context ?? {};
    if (orientation) {
      slush.orientation = { confidence: orientation.confidence, approach: orientation.approach };
    }
    if (temporal) {
      slush.temporal_snapshot = { time_of_day: temporal.time_of_day, fiscal: temporal.fiscal };
    }
    if (confidence !== undefined) slush.confidence = confidence;
    if (signals) slush.signals = signals;
    return { ...slush, ...extra };
  }
}

Object.defineProperty(BasicAgent.prototype, 'context', contextProperty);

// CommonJS agents get the class itself for their `require`, whether they take it apart or not.
for (const name of ['BasicAgent', 'default']) {
  Object.defineProperty(BasicAgent, name, { value: BasicAgent, configurable: true, writable: true });
}

export default BasicAgent;
