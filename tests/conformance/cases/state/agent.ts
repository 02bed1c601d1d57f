// One instance answers every call of a worker.

import { BasicAgent } from './BasicAgent.js';

export class StateAgent extends BasicAgent {
  count = 0;

  constructor() {
    super('State', { name: 'State', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    this.count += 1;
    return String(this.count);
  }
}
