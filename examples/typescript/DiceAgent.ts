// Rolls dice. With a seed the same roll comes out every time, so a game can be replayed and a test can be written.

import { BasicAgent, type AgentMetadata } from './BasicAgent.js';

interface Roll {
  dice: number[];
  total: number;
}

/** Mulberry32: a small generator that gives the same numbers for the same seed everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function roll(count: number, sides: number, random: () => number): Roll {
  const dice = Array.from({ length: count }, () => 1 + Math.floor(random() * sides));
  return { dice, total: dice.reduce((sum, die) => sum + die, 0) };
}

function wholeNumber(value: unknown, otherwise: number, least: number, most: number): number {
  const number = Number(value ?? otherwise);
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new RangeError(`expected a whole number from ${least} to ${most}, got ${String(value)}`);
  }
  return number;
}

export class DiceAgent extends BasicAgent {
  constructor() {
    const metadata: AgentMetadata = {
      name: 'Dice',
      description: 'Rolls dice and adds them up. Give a seed to get the same roll again.',
      parameters: {
        type: 'object',
        properties: {
          count: { type: 'integer', description: 'How many dice, 1 to 100', default: 2 },
          sides: { type: 'integer', description: 'Sides of each die, 2 to 1000', default: 6 },
          seed: { type: 'integer', description: 'Makes the roll repeatable' },
        },
        required: [],
      },
    };
    super('Dice', metadata);
  }

  async perform(kwargs: Record<string, unknown>): Promise<string> {
    const count = wholeNumber(kwargs.count, 2, 1, 100);
    const sides = wholeNumber(kwargs.sides, 6, 2, 1000);
    const random = kwargs.seed === undefined ? Math.random : randomFrom(Number(kwargs.seed));
    const { dice, total } = roll(count, sides, random);
    return JSON.stringify({
      status: 'success',
      result: `${count}d${sides}: ${dice.join(' + ')} = ${total}`,
      data_slush: { dice_total: total, dice_best: Math.max(...dice) },
    });
  }
}
