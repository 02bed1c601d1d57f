// Page apps and pages of installed apps, as the host lists them.
import type { PageMode } from '../../bridge/bridge.js';
import { ask, send } from './client';
import type { Failure, RightState } from './shapes';

/** A page of the workspace. What it says of itself is there only where it is as it must be. */
export interface PageListing {
  id: string;
  state: 'ready' | 'invalid';
  reason?: Failure;
  problems?: { field: string; message: string }[];
  name?: string;
  version?: string;
  entry?: string;
  description?: string;
  author?: string;
  icon?: string;
  agent?: string;
  unknownKeys?: string[];
  app?: string;
  digest?: string;
  rights: RightState[];
  mountsItself: boolean;
  files: number;
  bytes: number;
  changed: number;
  mounted: number;
}

/** What a model wants to do with a page, and a person decides. */
export interface PageWish {
  id: string;
  page: string;
  action: 'create' | 'update' | 'delete';
  manifest?: Record<string, unknown>;
  files?: Record<string, WrittenFile>;
  changes?: { manifest?: Record<string, unknown>; files: Record<string, WrittenFile | null> };
  asks: string[];
  askedAt: number;
  run?: string;
}
export type WrittenFile = string | { base64: string };

/** A mounted page, as the host knows it now. */
export interface SessionState {
  session: string;
  mode: PageMode;
  tier: 'network-proof' | 'standard';
  rights: RightState[];
  run: string | null;
}

const at = (id: string, below = '') => `/v1/pages/${encodeURIComponent(id)}${below}`;

export const pages = {
  list: async () => (await ask<{ pages: PageListing[] }>('/v1/pages')).pages,
  create: (id: string, name: string) => ask<{ id: string }>('/v1/pages', { method: 'POST', body: { id, name } }),
  remove: (id: string) => ask(at(id), { method: 'DELETE' }),
  export: async (id: string) => (await send(at(id, '/export'))).blob(),
  import: (zip: Blob, replace: boolean) => ask<{ id: string }>(`/v1/pages/import${replace ? '?replace=true' : ''}`, { method: 'POST', body: zip }),
  file: async (id: string, path: string) => (await send(at(id, `/files/${path.split('/').map(encodeURIComponent).join('/')}`))).blob(),
  session: (session: string) => ask<SessionState>(`/v1/pages/sessions/${session}`),
};

/** The id that a name becomes: lower-case words joined by single hyphens. */
export function idFor(name: string): string {
  const plain = name.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, '-').replace(/^-+|-+$/g, '').slice(0, 63).replace(/-+$/, '') || 'page';
}
