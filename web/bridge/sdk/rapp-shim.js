// Put before the scripts of pages that have an agent behind them: what they ask of `localhost:7071` goes through the
// host page, and storage is there also where the browser has none for them.
(() => {
  const host = window.parent;
  if (host === window) return;
  const TIMEOUT_MS = 120000;
  const OWN = /^\/(chat|health|version|api\/binder|api\/twin|tether|voice|models|login|debug\/auth|copilot|swarm)\b/;
  const LOCAL = /^https?:\/\/(localhost|127\.0\.0\.1):7071(\/|$)/;
  const realFetch = window.fetch.bind(window);
  const waiting = new Map();
  let number = 0;

  addEventListener('message', (event) => {
    if (event.source !== host || !event.data || event.data.type !== 'rapp:proxy_fetch:result') return;
    const done = waiting.get(event.data.id);
    waiting.delete(event.data.id);
    if (done) done(event.data);
  });

  window.fetch = (input, init = {}) => {
    const url = typeof input === 'string' ? input : input.url ?? String(input);
    if (!LOCAL.test(url) && !OWN.test(url)) return realFetch(input, init);
    return new Promise((resolve, reject) => {
      number += 1;
      const id = `shim-${number}`;
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new TypeError('Failed to fetch'));
      }, TIMEOUT_MS);
      waiting.set(id, (reply) => {
        clearTimeout(timer);
        if (reply.error) reject(new TypeError(reply.error));
        else resolve(new Response(reply.body, { status: reply.status, headers: reply.headers }));
      });
      const headers = Object.fromEntries(new Headers(init.headers ?? {}));
      const body = typeof init.body === 'string' ? init.body : undefined;
      host.postMessage({ type: 'rapp:proxy_fetch', id, url, method: init.method ?? 'GET', headers, body }, '*');
    });
  };

  for (const name of ['localStorage', 'sessionStorage']) {
    try {
      window[name].length;
    } catch {
      const items = new Map();
      const storage = {
        get length() { return items.size; },
        key: (at) => [...items.keys()][at] ?? null,
        getItem: (key) => items.get(String(key)) ?? null,
        setItem: (key, value) => { items.set(String(key), String(value)); },
        removeItem: (key) => { items.delete(String(key)); },
        clear: () => items.clear(),
      };
      Object.defineProperty(window, name, { value: storage, configurable: true });
    }
  }
})();
