// Two agents of one file.

import { BasicAgent } from './BasicAgent.js';

export class FirstAgent extends BasicAgent {
  constructor() {
    super('First', { name: 'First', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return 'first';
  }
}

export class SecondAgent extends BasicAgent {
  constructor() {
    super('Second', { name: 'Second', description: '', parameters: { type: 'object', properties: {} } });
  }

  perform(kwargs: Record<string, unknown>): string {
    return new FirstAgent().perform({}) + ' then second';
  }
}
