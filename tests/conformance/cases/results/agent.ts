// Results that are not text.

import { BasicAgent } from './BasicAgent.js';

export class ResultsAgent extends BasicAgent {
  constructor() {
    super('Results', { name: 'Results', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): unknown {
    const kinds: Record<string, unknown> = { none: null, true: true, number: 7, float: 1.5, list: [1, null], object: { a: null } };
    return kinds[String(kwargs.kind)];
  }
}
