// Native apps: starting and stopping, what can be set, accounts elsewhere, what they print and what they are asked.
import { ask, query } from './client';
import type { NativeProcess } from './installed';
import type { Failure } from './shapes';

export interface NativeSetting {
  key: string;
  title: string;
  type: 'text' | 'password' | 'toggle' | 'select' | 'number' | 'url';
  required: boolean;
  default?: string;
  placeholder?: string;
  options?: { value: string; label?: string }[];
  description?: string;
  secret: boolean;
  value?: string;
}

export interface NativeSettings {
  settings: NativeSetting[];
  missing: string[];
  told: boolean;
  reason?: Failure;
}

/** An account elsewhere, as far as it is connected. */
export interface NativeAccount {
  provider: string;
  scopes: string;
  connection_status: 'connected' | 'pending' | 'expired' | 'error';
}

/** One message between the host and an app. */
export interface NativeCall {
  id: number;
  timestamp: string;
  method: string;
  type: string;
  direction: string;
  bytes: number;
  status?: number;
  durationMs?: number;
  error?: string;
}

const at = (id: string, below = '') => `/v1/native-apps/${encodeURIComponent(id)}${below}`;

/** What this host can do with the program of an app. A host of another version may not have all of it. */
export interface NativeReach {
  isKept: boolean;
  hasSettings: boolean;
  hasLog: boolean;
  hasCalls: boolean;
}

const answers = (work: Promise<unknown>) => work.then(() => true, () => false);

export const native = {
  reach: async (id: string): Promise<NativeReach> => {
    const [isKept, hasSettings, hasLog, hasCalls] = await Promise.all([answers(ask(at(id))), answers(native.settings(id)), answers(native.log(id, 'stdout')), answers(native.calls(id, 1))]);
    return { isKept, hasSettings, hasLog, hasCalls };
  },
  start: (id: string) => ask<NativeProcess>(at(id, '/start'), { method: 'POST' }),
  stop: (id: string) => ask<NativeProcess>(at(id, '/stop'), { method: 'POST' }),
  settings: (id: string) => ask<NativeSettings>(at(id, '/settings')),
  set: (id: string, settings: Record<string, string>, unset: string[]) => ask<NativeSettings>(at(id, '/settings'), { method: 'PUT', body: { settings, unset } }),
  accounts: (id: string) => ask<NativeAccount[]>(at(id, '/accounts')),
  connect: async (id: string, provider: string) => (await ask<{ url: string }>(at(id, `/accounts/${encodeURIComponent(provider)}`), { method: 'POST', body: {} })).url,
  disconnect: (id: string, provider: string) => ask(`/api/v1/apps/${encodeURIComponent(id)}/oauth/${encodeURIComponent(provider)}`, { method: 'DELETE' }),
  log: async (id: string, stream: 'stdout' | 'stderr') => (await ask<{ text: string }>(`/v1/native/${encodeURIComponent(id)}/log${query({ stream })}`)).text,
  calls: async (id: string, limit: number) => (await ask<{ events: NativeCall[] }>(`/v1/native/${encodeURIComponent(id)}/calls${query({ limit })}`)).events,
};
