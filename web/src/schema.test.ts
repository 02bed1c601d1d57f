// Forms from schemas, as agents write them.
import { expect, it } from 'vitest';
import { argumentsOf, beginning, fieldsOf } from './schema';

const schema = {
  type: 'object',
  properties: {
    note: { type: 'string', description: 'What to remember.' },
    count: { type: 'integer', minimum: 1 },
    unit: { enum: ['km', 'mile', 3] },
    loud: { type: 'boolean', default: true },
    more: { type: ['object', 'null'] },
    who: {},
  },
  required: ['who'],
};

it('asks for what is needed first', () => {
  expect(fieldsOf(schema).map((field) => [field.name, field.kind])).toEqual([
    ['who', 'text'],
    ['note', 'text'],
    ['count', 'number'],
    ['unit', 'choice'],
    ['loud', 'switch'],
    ['more', 'json'],
  ]);
});

it('gives back values of the right types and leaves out what is empty', () => {
  const filled = { ...beginning(schema), who: 'me', count: '3', unit: '3', more: '{"a": [1]}', note: '' };
  expect(argumentsOf(fieldsOf(schema), filled)).toEqual({
    arguments: { who: 'me', count: 3, unit: 3, loud: true, more: { a: [1] } },
    wrong: {},
  });
});

it('says what is wrong, at its field', () => {
  const { wrong } = argumentsOf(fieldsOf(schema), { count: '1.5', more: '{' });
  expect(Object.keys(wrong)).toEqual(['who', 'count', 'more']);
});

it('makes no form of what is no schema', () => {
  expect(fieldsOf({})).toEqual([]);
  expect(fieldsOf({ properties: { a: null as never } })).toHaveLength(1);
});
