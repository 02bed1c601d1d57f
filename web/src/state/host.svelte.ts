// What the whole page shows of the host: is it there, which model answers, and how many things wait for a person.
import { ask, asFailed } from '../api/client';
import type { PageWish } from '../api/pages';
import type { FileRequest, Health, Proposal, RightState } from '../api/shapes';
import { owner } from './owner.svelte';

/** Often enough that a host that ended is noticed, seldom enough to cost nothing. */
const LOOK_EVERY_MS = 5000;

class HostState {
  health = $state<Health | undefined>(undefined);
  unreachable = $state(false);
  waiting = $state(0);

  begin(): void {
    void this.look();
    setInterval(() => {
      if (document.visibilityState === 'visible') void this.look();
    }, LOOK_EVERY_MS);
  }

  async look(): Promise<void> {
    try {
      this.health = await ask<Health>('/health');
      this.unreachable = false;
    } catch (error) {
      this.unreachable = asFailed(error).status === 0;
    }
  }

  /** Counts what waits for the owner. Asked when something may have changed, because it looks at every agent. */
  async count(): Promise<void> {
    if (!owner.is) return;
    const none = { waiting: [], requests: [], proposals: [], approvals: [], apps: [] };
    const [rights, requests, proposals, pages, library] = await Promise.all([
      ask<{ waiting: { rights: RightState[] }[] }>('/rights/waiting').catch(() => none),
      ask<{ requests: FileRequest[] }>('/workspace-requests').catch(() => none),
      ask<{ proposals: Proposal[] }>('/v1/host/workspace/proposals').catch(() => none),
      ask<{ approvals: PageWish[] }>('/v1/approvals').catch(() => none),
      ask<{ apps: { waiting_version: string | null }[] }>('/v1/apps').catch(() => none),
    ]);
    const asked = rights.waiting.reduce((sum, app) => sum + app.rights.length, 0);
    const updates = library.apps.filter((app) => app.waiting_version !== null);
    this.waiting = asked + requests.requests.length + proposals.proposals.length + pages.approvals.length + updates.length;
  }
}

export const host = new HostState();
