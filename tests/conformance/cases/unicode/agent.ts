// Text of every kind comes back as it went in.

import { BasicAgent } from './BasicAgent.js';

export class UnicodeAgent extends BasicAgent {
  constructor() {
    super('Unicode', { name: 'Unicode', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return String(kwargs.text);
  }
}
