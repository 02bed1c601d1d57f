// What an agent knows before it starts, under both sets of names.

import { BasicAgent } from './BasicAgent.js';

export class KnowsAgent extends BasicAgent {
  constructor() {
    super('Knows', { name: 'Knows', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    if (kwargs.signal) return JSON.stringify(this.getSignal(String(kwargs.signal)));
    return JSON.stringify(Object.keys(this.context).sort());
  }
}
