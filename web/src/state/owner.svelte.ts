// Whether this browser is the owner's. The host decides; the page only shows what it was given.
import { ask, asFailed, keepSession, NOT_OWNER, session, type Failed } from '../api/client';

interface Opened {
  session: string;
  expires: string;
}

class Owner {
  /** Unknown until the host has been asked. */
  is = $state<boolean | undefined>(undefined);
  failed = $state<Failed | undefined>(undefined);

  constructor() {
    // Signing in or out in one tab holds for all.
    addEventListener('storage', (event) => {
      if (event.key === 'roost.session') void this.look();
    });
    addEventListener(NOT_OWNER, () => void this.look());
  }

  /** Begins with the ticket of the address where there is one, and takes it out of the address first. */
  async begin(): Promise<void> {
    const ticket = /^#ticket=([0-9a-f]{64})$/.exec(location.hash)?.[1];
    if (location.hash.startsWith('#ticket=')) history.replaceState(null, '', '#/');
    if (ticket) await this.enter({ body: { ticket } });
    else await this.look();
  }

  /** With the token of the home, which is not kept: the host gives a session for it. */
  async enterWithToken(token: string): Promise<boolean> {
    return this.enter({ headers: { Authorization: `Bearer ${token.trim()}` } });
  }

  async look(): Promise<void> {
    try {
      this.is = (await ask<{ owner: boolean }>('/owner')).owner;
      if (!this.is && session()) keepSession(null);
    } catch (error) {
      this.failed = asFailed(error);
      this.is = false;
    }
  }

  async leave(): Promise<void> {
    await ask('/owner/sessions', { method: 'DELETE' }).catch(() => undefined);
    keepSession(null);
    this.is = false;
  }

  private async enter(how: { body?: unknown; headers?: Record<string, string> }): Promise<boolean> {
    this.failed = undefined;
    try {
      const opened = await ask<Opened>('/owner/sessions', { method: 'POST', ...how });
      keepSession(opened.session);
      this.is = true;
    } catch (error) {
      this.failed = asFailed(error);
      await this.look();
    }
    return this.is === true;
  }
}

export const owner = new Owner();
