// Awaited work, one after the other and side by side.

import { BasicAgent } from './BasicAgent.js';

async function later(value: string): Promise<string> {
  await Promise.resolve();
  return value;
}

export class WaitsAgent extends BasicAgent {
  constructor() {
    super('Waits', { name: 'Waits', description: '', parameters: { type: 'object', properties: {} } });
  }

  async perform(kwargs: Record<string, unknown>): Promise<string> {
    const [first, second] = await Promise.all([later('a'), later('b')]);
    return first + second;
  }
}
