// Runs: the list, one of them with its events, and going through it again.
import { ask, query } from './client';
import type { Replay, Run, RunEvent } from './shapes';

/** Events that are read at most: a turn has far fewer. */
const PAGES_MAX = 20;

export async function runs(before?: string): Promise<Run[]> {
  return (await ask<{ runs: Run[] }>(`/v1/runs${query({ limit: 50, before })}`)).runs;
}

export function run(id: string): Promise<Run> {
  return ask<Run>(`/v1/runs/${encodeURIComponent(id)}`);
}

export async function events(id: string): Promise<RunEvent[]> {
  const all: RunEvent[] = [];
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const lastSequence = all.at(-1)?.sequence ?? -1;
    const found = await ask<{ events: RunEvent[]; isComplete: boolean }>(
      `/v1/runs/${encodeURIComponent(id)}/events/poll${query({ lastSequence, timeout: 1 })}`,
    );
    all.push(...found.events);
    if (found.isComplete || found.events.length === 0) break;
  }
  return all;
}

export function replay(id: string): Promise<Replay> {
  return ask<Replay>(`/v1/runs/${encodeURIComponent(id)}:replay`, { method: 'POST' });
}

export function cancel(id: string): Promise<unknown> {
  return ask(`/v1/runs/${encodeURIComponent(id)}/cancel`, { method: 'POST' });
}

export function forget(id: string): Promise<void> {
  return ask(`/v1/runs/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

export function exported(id: string): Promise<unknown> {
  return ask(`/v1/runs/${encodeURIComponent(id)}/export`);
}

export const isOver = (one: Run) => ['completed', 'failed', 'cancelled'].includes(one.status);
