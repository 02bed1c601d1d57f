// Errors are values, and the next call works.

import { BasicAgent } from './BasicAgent.js';

export class RaisesAgent extends BasicAgent {
  constructor() {
    super('Raises', { name: 'Raises', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    if (kwargs.fine) return 'fine';
    throw new Error('no: ' + String(kwargs.why ?? ''));
  }
}
