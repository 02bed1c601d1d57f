// Repeats its arguments.

import { BasicAgent } from './BasicAgent.js';

export class EchoAgent extends BasicAgent {
  constructor() {
    super('Echo', { name: 'Echo', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return JSON.stringify(kwargs);
  }
}
