// Asking the host. Every failure becomes one `Failed`, whatever shape the route answers with.

/** Where this browser keeps the session that the owner gave it. Other origins, also other ports, cannot read it. */
const SESSION_KEY = 'roost.session';

/** Told to the window when a session is not believed any more. */
export const NOT_OWNER = 'roost:not-owner';

/** Why something did not work: the code, the sentence and the next step that every surface shows. */
export class Failed extends Error {
  constructor(
    readonly status: number,
    readonly reason: string,
    message: string,
    readonly next: string,
    readonly details: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = 'Failed';
  }
}

export interface Asking {
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON, unless it is a form or bytes already. */
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Which workspace of the owner's is meant; the default one where this is absent. */
  workspace?: string;
}

export function session(): string | null {
  return localStorage.getItem(SESSION_KEY);
}

export function keepSession(value: string | null): void {
  if (value === null) localStorage.removeItem(SESSION_KEY);
  else localStorage.setItem(SESSION_KEY, value);
}

/** One question, one document. */
export async function ask<T>(path: string, asking: Asking = {}): Promise<T> {
  const response = await send(path, asking);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

/** One question; the answer is read by whoever asked. Throws `Failed` for every answer that is not a success. */
export async function send(path: string, asking: Asking = {}): Promise<Response> {
  const { method = 'GET', body, signal, workspace } = asking;
  const headers = new Headers(asking.headers);
  const held = session();
  if (held && !headers.has('Authorization')) headers.set('Authorization', `Bearer ${held}`);
  if (workspace) headers.set('Roost-Workspace', workspace);
  const init: RequestInit = { method, headers, cache: 'no-store' };
  if (signal) init.signal = signal;
  if (body instanceof FormData || body instanceof Blob) init.body = body;
  else if (body !== undefined) {
    headers.set('Content-Type', 'application/json');
    init.body = JSON.stringify(body);
  }
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failed(0, 'host_unreachable', 'The host does not answer.', 'start it with `roost up`, then try again');
  }
  if (!response.ok) {
    const failed = await failure(response);
    if (held && ['owner_only', 'unauthenticated'].includes(failed.reason)) dispatchEvent(new Event(NOT_OWNER));
    throw failed;
  }
  return response;
}

/** A query of the values that are there. */
export function query(values: Record<string, string | number | boolean | undefined | null>): string {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== '') parts.set(name, String(value));
  }
  const text = parts.toString();
  return text ? `?${text}` : '';
}

/** What went wrong, for whoever shows it. */
export function asFailed(error: unknown): Failed {
  if (error instanceof Failed) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new Failed(0, 'internal', message, 'reload the page; if it stays, see the host’s log');
}

async function failure(response: Response): Promise<Failed> {
  const body: unknown = await response.json().catch(() => null);
  return failureIn(body, response.status);
}

/** Reads the two shapes there are: `{error, reason, next}` and, of the workspace contract, `{error, message, details}`. */
export function failureIn(body: unknown, status: number): Failed {
  const known = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const text = (value: unknown, other: string) => (typeof value === 'string' && value ? value : other);
  if (typeof known['message'] === 'string') {
    const details = (known['details'] ?? {}) as Record<string, unknown>;
    const code = text(known['error'], 'internal');
    return new Failed(status, text(details['reason'], code), known['message'], nextOf(code), details);
  }
  const message = text(known['error'], `The host answered with status ${status}.`);
  const line = typeof known['line'] === 'number' ? ` (line ${known['line']})` : '';
  return new Failed(status, text(known['reason'], 'internal'), message + line, text(known['next'], 'see the host’s log'), known);
}

/** The contract of the workspace has codes and no next steps. */
function nextOf(code: string): string {
  const steps: Record<string, string> = {
    unauthenticated: 'open the page with `roost open`',
    key_expired: 'open the page with `roost open`',
    workspace_conflict: 'look at what is there now, then try again',
    workspace_too_large: 'the limits stand under [workspace] in roost.toml',
    rate_limited: 'wait a moment and try again',
    not_found: 'go back to the list; it may have been removed',
  };
  return steps[code] ?? 'change what is named and try again';
}
