// Ends its own process; the next call gets a new one.

import { BasicAgent } from './BasicAgent.js';

import process from 'node:process';

export class ExitsAgent extends BasicAgent {
  constructor() {
    super('Exits', { name: 'Exits', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    if (kwargs.fine) return 'fine';
    process.exit(3);
  }
}
