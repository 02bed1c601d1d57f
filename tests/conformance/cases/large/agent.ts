// Results up to the limit arrive whole, larger ones are refused.

import { BasicAgent } from './BasicAgent.js';

export class LargeAgent extends BasicAgent {
  constructor() {
    super('Large', { name: 'Large', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return String(kwargs.unit).repeat(Number(kwargs.count));
  }
}
