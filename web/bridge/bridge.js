// The host page's half of the bridge: frames for pages, one private port each, and nothing that a page says is believed.
//
// Plain module without dependencies. The host page gives `api`, which sends a request to the host with whatever proves
// its owner; no frame ever sees that. What a page may do is decided by the host: here messages are only checked for who
// sent them, counted, measured and carried.

/** Bytes of one message, roughly: what a string or a key has in characters. */
const MESSAGE_SIZE_MAX = 1 << 20;
/** Parts of one message; deeper or wider ones are no calls. */
const MESSAGE_PARTS_MAX = 10000;
/** Calls in a burst and in every second after it, as the host counts them too. */
const BURST = 1000;
const PER_SECOND = 250;
/** Unanswered calls of one page. */
const IN_FLIGHT_MAX = 64;
/** Refusals that are answered in a second; a page that floods is not worth an answer to each. */
const REFUSALS_PER_SECOND = 200;
/** How often a page is asked whether it is alive, and how long it may take. */
const PING_EVERY_MS = 5000;
const PONG_WITHIN_MS = 4000;
/** How long a frame may take to answer when it is tried whether names of pages resolve. */
const PROBE_WITHIN_MS = 2500;

/** Tries once whether `*.localhost` leads to this host. Resolves to `origin` or `opaque`. */
export function probeMode({ base = location.origin, document = globalThis.document } = {}) {
  const port = new URL(base).port || '80';
  const origin = `http://probe.localhost:${port}`;
  return new Promise((resolve) => {
    const frame = document.createElement('iframe');
    frame.hidden = true;
    frame.setAttribute('sandbox', 'allow-scripts allow-same-origin');
    const done = (mode) => {
      clearTimeout(timer);
      removeEventListener('message', listen);
      frame.remove();
      resolve(mode);
    };
    const listen = (event) => {
      const isProbe = event.source === frame.contentWindow && event.origin === origin;
      if (isProbe && event.data && event.data.type === 'ROOST_PROBE') done('origin');
    };
    const timer = setTimeout(() => done('opaque'), PROBE_WITHIN_MS);
    addEventListener('message', listen);
    frame.src = `${origin}/apps/_sdk/probe.html`;
    document.body.append(frame);
  });
}

/**
 * Mounts a page into `container`: a page of the workspace, or with `of: 'apps'` that of an installed app.
 * `consent(ask, digest)` is called when a person has to answer, with the rights in question, and resolves to
 * `{right: 'deny' | 'once' | 'always'}` or to nothing when the person does not want it.
 */
export async function mountPage({ api, id, of = 'pages', container, mode, consent, base = location.origin, on = {} }) {
  const ask = (body) => post(api, `/v1/${of}/${encodeURIComponent(id)}/mount`, { mode, ...body });
  let answer = await ask({});
  // A page that changes while a person reads is asked for anew; one that never stops changing is given up.
  for (let round = 0; answer.ask && round < 5; round += 1) {
    const answers = await consent(answer.ask, answer.digest);
    if (!answers) return null;
    answer = await ask({ digest: answer.digest, answers });
  }
  if (!answer.session) throw new Error('the page asks for something else each time');
  return new PageFrame({ api, mounted: answer, container, base, on });
}

/** One mounted page. `state` is `loading`, `running`, `silent` or `closed`. */
export class PageFrame {
  constructor({ api, mounted, container, base, on }) {
    this.api = api;
    this.session = mounted.session;
    this.page = mounted.page;
    this.mode = mounted.mode;
    this.tier = mounted.tier;
    this.rights = mounted.rights;
    this.state = 'loading';
    this.on = on;
    this._expected = mounted.frame.origin;
    this._abort = new AbortController();
    this._bucket = { tokens: BURST, filled: performance.now() };
    this._refusals = { left: REFUSALS_PER_SECOND, since: performance.now() };
    this._inFlight = 0;
    this._loads = 0;
    this._port = null;
    this.element = container.ownerDocument.createElement('iframe');
    this.element.setAttribute('sandbox', mounted.frame.sandbox);
    this.element.setAttribute('allow', mounted.frame.allow);
    this.element.setAttribute('referrerpolicy', 'no-referrer');
    this.element.title = `${mounted.page.name} (${mounted.page.id})`;
    this.element.src = new URL(mounted.frame.url, base).href;
    this._listen = (event) => this._fromWindow(event);
    addEventListener('message', this._listen);
    this.element.addEventListener('load', () => this._loaded());
    container.append(this.element);
    this._follow();
    this._pinging = setInterval(() => this._ping(), PING_EVERY_MS);
  }

  /** Ends the session and takes the frame away. */
  async unmount() {
    this._close('unmounted');
    await this.api(`/v1/pages/sessions/${this.session}`, { method: 'DELETE' }).catch(() => {});
  }

  _close(why) {
    if (this.state === 'closed') return;
    this._to('closed', why);
    this._abort.abort();
    removeEventListener('message', this._listen);
    clearInterval(this._pinging);
    clearTimeout(this._silence);
    if (this._port) this._port.close();
    this.element.remove();
  }

  _to(state, why) {
    if (this.state === state) return;
    this.state = state;
    this.on.state?.(state, why);
  }

  /** A frame that loads again holds another document: whatever that is, it is not the page that was mounted. */
  _loaded() {
    this._loads += 1;
    if (this._loads > 1 && this.state !== 'closed') {
      this._close('navigated');
      this.api(`/v1/pages/sessions/${this.session}`, { method: 'DELETE' }).catch(() => {});
    } else if (this.state === 'loading') {
      this._to('running');
      // Pages with an agent behind them are told where they are, without asking.
      if (this.page.agent) this._cartridge('rapp:get_cartridge', {}, (reply) => this._toWindow(reply));
    }
  }

  _fromWindow(event) {
    if (event.source !== this.element.contentWindow || event.origin !== this._expected) return;
    const message = event.data;
    if (!message || typeof message !== 'object') return;
    if (message.type === 'ROOST_HELLO') {
      this._givePort();
    } else if (this._loads > 1) {
      return;
    } else if (message.type === 'REPLOID_API_REQUEST') {
      this._request(message, (reply) => this._toWindow(reply));
    } else if (message.type === 'rapp:close') {
      this.unmount();
    } else if (typeof message.type === 'string' && message.type.startsWith('rapp:')) {
      this._cartridge(message.type, message, (reply) => this._toWindow(reply));
    } else if (message.rapp === 'invoke') {
      // The dialect of one app: the action is an argument like the others.
      const args = { ...(typeof message.args === 'object' ? message.args : {}), action: message.action };
      this._cartridge('rapp:invoke', { id: message.id, args }, ({ result, error }) =>
        this._toWindow({ rapp: 'result', id: message.id, result: error === undefined ? result : JSON.stringify({ error }) }));
    }
  }

  /** Messages of pages that have an agent behind them: the host answers with the whole reply, or not at all. */
  async _cartridge(type, message, send) {
    const reply = (answer) => {
      if (this.state !== 'closed' && answer) send(answer);
    };
    const failed = (error) => reply({ type: `${type}:result`, id: message.id, error });
    if (!this._mayCall() || this._inFlight >= IN_FLIGHT_MAX) {
      if (this._mayRefuse()) failed('Too many requests');
      return;
    }
    if (!isSmall(message)) {
      failed('Message too large');
      return;
    }
    this._inFlight += 1;
    try {
      const answer = await post(this.api, `/v1/pages/sessions/${this.session}/call`, { method: type, args: [message] }, this._abort.signal);
      if (answer.error !== undefined) failed(answer.error);
      else reply(answer.result);
    } catch {
      failed('The host did not answer');
    } finally {
      this._inFlight -= 1;
    }
  }

  _givePort() {
    if (this._port) return;
    const channel = new MessageChannel();
    this._port = channel.port1;
    this._port.onmessage = (event) => this._fromPort(event.data);
    this.element.contentWindow.postMessage({ type: 'ROOST_PORT' }, this._target(), [channel.port2]);
  }

  /** An opaque origin cannot be named; what is private goes over the port. */
  _target() {
    return this._expected === 'null' ? '*' : this._expected;
  }

  _toWindow(message) {
    this.element.contentWindow?.postMessage(message, this._target());
  }

  _fromPort(message) {
    if (!message || typeof message !== 'object') return;
    if (message.type === 'REPLOID_API_REQUEST') this._request(message, (reply) => this._port.postMessage(reply));
    else if (message.type === 'ROOST_PONG') this._alive();
  }

  /** Counted before anything else is looked at: of a flood, most messages must cost next to nothing. */
  _request(message, send) {
    const isTooMany = this._inFlight >= IN_FLIGHT_MAX || !this._mayCall();
    if (isTooMany && !this._mayRefuse()) return;
    const { id, method, args } = message;
    const isCall =
      (typeof id === 'string' || typeof id === 'number') &&
      String(id).length <= 200 &&
      typeof method === 'string' &&
      method.length <= 100 &&
      (args === undefined || Array.isArray(args));
    if (!isCall) return;
    const reply = (answer) => {
      if (this.state !== 'closed') send({ type: 'REPLOID_API_RESPONSE', id, ...answer });
    };
    if (isTooMany) reply({ error: 'Too many requests', code: 'rate_limited' });
    else this._carry(method, args, reply);
  }

  async _carry(method, args, reply) {
    if (!isSmall(args)) {
      reply({ error: 'Message too large', code: 'too_large' });
      return;
    }
    this._inFlight += 1;
    try {
      reply(await this._call(method, args ?? []));
    } catch (failure) {
      reply({ error: failure.name === 'AbortError' ? 'The app is not mounted' : 'The host did not answer', code: 'failed' });
    } finally {
      this._inFlight -= 1;
    }
  }

  async _call(method, args) {
    const answer = await post(this.api, `/v1/pages/sessions/${this.session}/call`, { method, args }, this._abort.signal);
    if (answer.error !== undefined) return answer;
    // The gate said yes; what only a browser can do is done here, under the host page's own name.
    if (method === 'system.notify') this.on.notify?.({ page: this.page, title: args[0], body: args[1] ?? '' });
    if (method === 'clipboard.writeText') await navigator.clipboard.writeText(String(args[0] ?? ''));
    if (method === 'clipboard.readText') return { result: await navigator.clipboard.readText() };
    return { result: answer.result };
  }

  _mayCall() {
    const now = performance.now();
    const filled = ((now - this._bucket.filled) / 1000) * PER_SECOND;
    this._bucket = { tokens: Math.min(BURST, this._bucket.tokens + filled), filled: now };
    if (this._bucket.tokens < 1) return false;
    this._bucket.tokens -= 1;
    return true;
  }

  _mayRefuse() {
    const now = performance.now();
    if (now - this._refusals.since > 1000) this._refusals = { left: REFUSALS_PER_SECOND, since: now };
    this._refusals.left -= 1;
    return this._refusals.left >= 0;
  }

  /** Carries what the host tells this page, until either is gone. */
  async _follow() {
    try {
      const answer = await this.api(`/v1/pages/sessions/${this.session}/events`, { signal: this._abort.signal });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      for await (const { event, data } of serverEvents(answer.body)) {
        if (event === 'closed') return this._close(data.why);
        this._tell(data);
      }
      throw new Error('the host stopped');
    } catch (failure) {
      if (this.state !== 'closed') this._close('lost');
    }
  }

  _tell({ eventName, name, data, count, dropped }) {
    const message = { type: 'REPLOID_EVENT', eventName, data, name, count, dropped };
    if (this._port) this._port.postMessage(message);
    else this._toWindow(message);
  }

  _ping() {
    if (!this._port || this.state === 'closed') return;
    this._port.postMessage({ type: 'ROOST_PING' });
    this._silence ??= setTimeout(() => this._to('silent'), PONG_WITHIN_MS);
  }

  _alive() {
    clearTimeout(this._silence);
    this._silence = undefined;
    if (this.state === 'silent') this._to('running');
  }
}

async function post(api, path, body, signal) {
  const answer = await api(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
    signal,
  });
  const document = await answer.json();
  if (answer.ok) return document;
  throw Object.assign(new Error(document.error), { reason: document.reason, next: document.next });
}

/** Looks at a message piece by piece and stops as soon as it is too much. */
export function isSmall(value) {
  let size = 0;
  let parts = 0;
  const waiting = [value];
  while (waiting.length > 0) {
    const part = waiting.pop();
    parts += 1;
    if (typeof part === 'string') size += part.length;
    else if (ArrayBuffer.isView(part) || part instanceof ArrayBuffer || part instanceof Blob) return false;
    else if (part && typeof part === 'object') {
      const keys = Object.keys(part);
      if (keys.length > MESSAGE_PARTS_MAX) return false;
      for (const key of keys) {
        size += key.length;
        waiting.push(part[key]);
      }
    }
    if (size > MESSAGE_SIZE_MAX || parts + waiting.length > MESSAGE_PARTS_MAX) return false;
  }
  return true;
}

/** The events of a stream, one by one. */
async function* serverEvents(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let held = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    for (let end = held.indexOf('\n\n'); end >= 0; end = held.indexOf('\n\n')) {
      const lines = held.slice(0, end).split('\n');
      held = held.slice(end + 2);
      const field = (name) =>
        lines.filter((line) => line.startsWith(`${name}:`)).map((line) => line.slice(name.length + 1).trim()).join('\n');
      if (field('data')) yield { event: field('event'), data: JSON.parse(field('data')) };
    }
  }
}
