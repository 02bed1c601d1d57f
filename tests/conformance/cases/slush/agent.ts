// Signals for the next agent, in text and as an object.

import { BasicAgent } from './BasicAgent.js';

export class SlushAgent extends BasicAgent {
  constructor() {
    super('Slush', { name: 'Slush', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): unknown {
    const slush = { n: 1, seen: this.context.slush };
    const result = { said: 'x', data_slush: slush };
    if (kwargs.form === 'object') return result;
    if (kwargs.form === 'wrong') return JSON.stringify({ data_slush: 'text' });
    return JSON.stringify(result);
  }
}
