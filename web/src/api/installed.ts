// Installed apps: what is there, what installing would mean, and changing it.
import { lines } from './chat';
import { ask, Failed, failureIn, send } from './client';
import type { Failure } from './shapes';

export interface InstalledApp {
  id: string;
  name: string;
  publisher: string | null;
  kind: string;
  summary: string;
  version: string | null;
  digest: string;
  origin: Record<string, unknown>;
  state: 'enabled' | 'pending_update' | 'changed' | 'disabled' | 'failed' | 'quarantined';
  reason: Failure | null;
  agent_file: string | null;
  service_file: string | null;
  page_file: string | null;
  agents: string[];
  services: string[];
  native?: NativeRecord;
  process?: NativeProcess;
  rights: string[];
  grade: Grade;
  previous_version: string | null;
  waiting_version: string | null;
  workspace: string;
  installed_at: string;
}

/** A program: who vouched for it, what it offers and wants, in the words of its manifest. */
export interface NativeRecord {
  binary: string;
  signed?: { key_id: string; vouched_by: string };
  provides: string[];
  permissions: string[];
  overrides: string[];
  oauth: { provider: string; scopes: string[] }[];
}

/** What the process of a native app does now. */
export interface NativeProcess {
  phase: 'starting' | 'running' | 'waiting' | 'failed' | 'stopped';
  since: string;
  reason?: Failure;
  pid?: number;
  restarts: number;
  left_out?: { what: string; why: string }[];
}

export type Grade = 'A' | 'B' | 'C' | 'D' | 'E';

export interface AskedRight {
  right: string;
  sentence: string;
  given: 'policy' | 'granted' | 'open' | 'forbidden';
  is_new: boolean;
}

export interface InstallPlan {
  id: string;
  name: string;
  publisher: string | null;
  version: string | null;
  kind: string;
  summary: string;
  origin: Record<string, unknown>;
  digest: string;
  agent: string | null;
  service: string | null;
  has_page: boolean;
  rights: AskedRight[];
  grade: Grade;
  unchecked: string[];
  left_out: Failure[];
  installed_version: string | null;
  is_installed: boolean;
}

/** What an app is made of, for whoever reads before installing. */
export interface AppFiles {
  digest: string;
  files: { path: string; bytes: number; text: string | null }[];
}

export interface UpdateOutcome {
  state: 'updated' | 'current' | 'waiting' | 'young' | 'taken_back' | 'failed';
  app: InstalledApp;
  from: string;
  to: string | null;
  new_rights: AskedRight[];
  /** What a program wants that the version before did not, in the words of its manifest. */
  wants?: Pick<NativeRecord, 'permissions' | 'provides' | 'overrides' | 'oauth'>;
  reason: Failure | null;
  kept: string[];
}

/** What the host does with an app that is being installed, in this order. */
export type InstallStep = 'fetching' | 'waiting' | 'checking' | 'trying' | 'placing' | 'serving';

/** What a person gives to an app: what the policy gives anyway, everything it asks for, or these. */
export type Giving = 'policy' | 'asked' | { these: string[] };

const at = (id: string, below = '') => `/v1/apps/${encodeURIComponent(id)}${below}`;

export const installed = {
  list: async () => (await ask<{ apps: InstalledApp[] }>('/v1/apps')).apps,
  plan: (source: string) => ask<InstallPlan>('/v1/app-plans', { method: 'POST', body: { source } }),
  files: (source: string) => ask<AppFiles>('/v1/app-plans/files', { method: 'POST', body: { source } }),
  show: (id: string) => ask<InstalledApp>(at(id)),
  /** Installs, and tells each step as the host begins it. What is answered is what came of it. */
  install: async (source: string, digest: string, rights: Giving, told: (step: InstallStep) => void): Promise<InstalledApp> => {
    const response = await send('/v1/app-installs', { method: 'POST', body: { source, digest, rights } });
    for await (const data of lines(response.body!)) {
      const event = JSON.parse(data) as { step?: InstallStep; installed?: { app: InstalledApp }; failed?: unknown };
      if (event.step) told(event.step);
      if (event.installed) return event.installed.app;
      if (event.failed) throw failureIn(event.failed, 200);
    }
    throw new Failed(0, 'host_unreachable', 'The host broke off before it said how it ended.', 'look under Installed, then try again');
  },
  update: async (id: string, now: boolean) => (await ask<{ updates: UpdateOutcome[] }>('/v1/app-updates', { method: 'POST', body: { id, now } })).updates[0]!,
  updateAll: async () => (await ask<{ updates: UpdateOutcome[] }>('/v1/app-updates', { method: 'POST', body: {} })).updates,
  waiting: (id: string) => ask<UpdateOutcome>(at(id, '/waiting')),
  approve: (id: string) => ask<UpdateOutcome>(at(id, '/approve'), { method: 'POST', body: {} }),
  reject: (id: string) => ask<InstalledApp>(at(id, '/waiting'), { method: 'DELETE' }),
  rollBack: (id: string) => ask<UpdateOutcome>(at(id, '/rollback'), { method: 'POST', body: {} }),
  remove: (id: string) => ask<{ workspace: string; kept: string[] }>(at(id), { method: 'DELETE' }),
};

/** What a grade means, as docs and command line say it. */
export const GRADES: Record<Grade, string> = {
  A: 'stays in its own folders; may ask the model',
  B: 'uses parts of the host: memory, files with history, variables, other agents’ answers',
  C: 'reaches computers that it names, or reads some of your files',
  D: 'changes your files or other agents, or can send what it reads to computers that it names',
  E: 'reaches any computer, or starts programs',
};

/** How an installed app stands, in a word. */
export const STATES: Record<InstalledApp['state'], { text: string; tone: 'good' | 'warn' | 'bad' | 'accent' | 'plain' }> = {
  enabled: { text: 'answers', tone: 'good' },
  pending_update: { text: 'update waits', tone: 'accent' },
  changed: { text: 'changed by hand', tone: 'warn' },
  disabled: { text: 'off', tone: 'plain' },
  failed: { text: 'does not answer', tone: 'bad' },
  quarantined: { text: 'taken away', tone: 'bad' },
};

/** How an app stands now: one whose process was stopped or begins does not answer, whatever else is said of it. */
export function standingOf(app: InstalledApp): (typeof STATES)[InstalledApp['state']] {
  if (app.state === 'enabled' && app.process?.phase === 'stopped') return { text: 'stopped', tone: 'plain' };
  if (app.state === 'enabled' && app.process?.phase === 'starting') return { text: 'starting', tone: 'accent' };
  return STATES[app.state];
}

/** Whether an app has a page to mount: a file of its own, or one that its program answers. */
export const hasPage = (app: InstalledApp) => app.page_file !== null || (app.native?.provides.includes('ui') ?? false);
