// Nothing of the host's own environment is seen.

import { BasicAgent } from './BasicAgent.js';

import process from 'node:process';

export class EnvironmentAgent extends BasicAgent {
  constructor() {
    super('Environment', { name: 'Environment', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return JSON.stringify({ secret: process.env.HOST_SECRET ?? null, lang: process.env.LANG ?? null, own: 'ROOST_HOME' in process.env });
  }
}
