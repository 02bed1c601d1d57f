// Arguments that are missing where the schema requires them.

import { BasicAgent } from './BasicAgent.js';

export class StrictAgent extends BasicAgent {
  constructor() {
    super('Strict', { name: 'Strict', description: '', parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return String(kwargs.city);
  }
}
