// What pages speak to the host with: `window.reploid`. Plain script, no dependencies, nothing kept of the page.
//
// Speaks over a private port once the host page has given one, and by window messages until then, as older copies do.
// Only the host page is listened to: a frame inside the page cannot answer in its place.
(() => {
  const TIMEOUT_MS = 30000;
  const host = window.parent;

  const newId = () => {
    if (typeof crypto.randomUUID === 'function') return crypto.randomUUID();
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
  };

  class ReploidAppSDK {
    constructor() {
      this._pending = new Map();
      this._subscriptions = new Map();
      this._names = new Map();
      this._port = null;
      window.addEventListener('message', (event) => {
        if (event.source !== host) return;
        if (event.data && event.data.type === 'ROOST_PORT' && event.ports[0] && !this._port) {
          this._port = event.ports[0];
          this._port.onmessage = (message) => this._handle(message.data);
          return;
        }
        this._handle(event.data);
      });
      host.postMessage({ type: 'ROOST_HELLO' }, '*');
    }

    _handle(message) {
      if (!message || typeof message !== 'object') return;
      const { type, id, result, error, eventName, data } = message;
      if (type === 'REPLOID_API_RESPONSE') {
        const pending = this._pending.get(id);
        if (!pending) return;
        this._pending.delete(id);
        clearTimeout(pending.timer);
        if (error !== undefined && error !== null) pending.reject(Object.assign(new Error(error), { code: message.code }));
        else pending.resolve(result);
      } else if (type === 'REPLOID_EVENT') {
        for (const handler of [...(this._subscriptions.get(eventName) || [])]) {
          try {
            handler(data, { name: message.name, count: message.count, dropped: message.dropped });
          } catch (failure) {
            console.error(failure);
          }
        }
      } else if (type === 'ROOST_PING') {
        this._send({ type: 'ROOST_PONG', id });
      }
    }

    _send(message) {
      if (this._port) this._port.postMessage(message);
      else host.postMessage(message, '*');
    }

    call(method, ...args) {
      return new Promise((resolve, reject) => {
        const id = newId();
        const timer = setTimeout(() => {
          if (this._pending.delete(id)) reject(new Error('Request timeout'));
        }, TIMEOUT_MS);
        this._pending.set(id, { resolve, reject, timer });
        try {
          this._send({ type: 'REPLOID_API_REQUEST', id, method, args });
        } catch (failure) {
          this._pending.delete(id);
          clearTimeout(timer);
          reject(failure);
        }
      });
    }

    vfs = {
      read: (path) => this.call('vfs.read', path),
      write: (path, content) => this.call('vfs.write', path, content),
      list: (path) => this.call('vfs.list', path),
      exists: (path) => this.call('vfs.exists', path),
      delete: (path) => this.call('vfs.delete', path),
    };

    eventbus = {
      subscribe: async (eventName, handler) => {
        const id = await this.call('eventbus.subscribe', eventName);
        if (!this._subscriptions.has(eventName)) this._subscriptions.set(eventName, []);
        this._subscriptions.get(eventName).push(handler);
        this._names.set(id, { eventName, handler });
        return id;
      },
      unsubscribe: async (id) => {
        await this.call('eventbus.unsubscribe', id);
        const known = this._names.get(id);
        this._names.delete(id);
        const handlers = known && this._subscriptions.get(known.eventName);
        if (handlers) handlers.splice(handlers.indexOf(known.handler), 1);
      },
      emit: (eventName, data) => this.call('eventbus.emit', eventName, data),
    };

    system = {
      getState: () => this.call('system.getState'),
      getConfig: () => this.call('system.getConfig'),
      notify: (title, body) => this.call('system.notify', title, body),
    };

    clipboard = {
      readText: () => this.call('clipboard.readText'),
      writeText: (text) => this.call('clipboard.writeText', text),
    };

    // Texts that the host keeps, also where the browser keeps nothing for this page.
    storage = {
      all: () => this.call('storage.all'),
      get: async (key) => (await this.call('storage.all'))[key] ?? null,
      set: (key, value) => this.call('storage.set', String(key), String(value)),
      remove: (key) => this.call('storage.remove', String(key)),
      clear: () => this.call('storage.clear'),
    };
  }

  window.reploid = new ReploidAppSDK();
})();
