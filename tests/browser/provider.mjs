// A provider of accounts on loopback: everybody who comes is let in at once, and what it was asked is remembered.
import { createServer } from 'node:http';

/** Starts one; `settings` is what roost.toml says of it, under the name `harbor`. */
export async function provider() {
  const asked = [];
  const server = createServer(async (request, response) => {
    const address = new URL(request.url, 'http://127.0.0.1');
    if (address.pathname === '/authorize') {
      asked.push(Object.fromEntries(address.searchParams));
      const back = new URL(address.searchParams.get('redirect_uri'));
      back.search = new URLSearchParams({ state: address.searchParams.get('state'), code: 'let-in' });
      return response.writeHead(302, { Location: back.href }).end();
    }
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    asked.push(Object.fromEntries(new URLSearchParams(Buffer.concat(pieces).toString())));
    response.setHeader('Content-Type', 'application/json');
    response.end(JSON.stringify({ access_token: 'at-harbor', refresh_token: 'rt-harbor', expires_in: 3600, token_type: 'bearer' }));
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  const top = `http://127.0.0.1:${server.address().port}`;
  const settings = `[policy]\nallow = ["feature:oauth:harbor"]\n\n[oauth.harbor]\nauthorize_url = "${top}/authorize"\ntoken_url = "${top}/token"\nclient_id = "roost"\n`;
  return { asked, settings, close: () => server.close() };
}
