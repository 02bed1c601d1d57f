// Where the person is. Addresses are fragments: paths such as /agents belong to the host's own routes.

export interface Place {
  view: string;
  /** What follows the view, decoded. */
  rest: string[];
  query: URLSearchParams;
}

class Places {
  now = $state<Place>(read(location.hash));

  constructor() {
    addEventListener('hashchange', () => (this.now = read(location.hash)));
  }

  /** Goes there. Nothing but looking ever follows from an address. */
  go(address: string): void {
    location.hash = address;
  }

  /** The same without a step in the history. */
  replace(address: string): void {
    history.replaceState(null, '', address);
    this.now = read(location.hash);
  }
}

export const places = new Places();

/** The address of a view: `to('agents', 'Weather')` is `#/agents/Weather`. */
export function to(view: string, ...rest: string[]): string {
  return `#/${[view, ...rest].map(encodeURIComponent).join('/')}`;
}

export function read(hash: string): Place {
  const [path = '', search = ''] = hash.replace(/^#\/?/, '').split('?', 2);
  const [view = '', ...rest] = path.split('/').map(decoded);
  return { view, rest: rest.filter((part) => part !== ''), query: new URLSearchParams(search) };
}

/** An address can be written by anybody; one that cannot be decoded leads nowhere in particular. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}
