// Events of a turn as steps.
import { expect, it } from 'vitest';
import type { RunEvent } from './api/shapes';
import { compared, stepsOf } from './timeline';

let sequence = 0;
const event = (type: string, payload: Record<string, unknown>, nodeId?: string): RunEvent => ({
  eventId: `e${++sequence}`,
  type,
  payload,
  timestamp: `2026-11-16T10:00:0${sequence % 10}.000Z`,
  sequence,
  ...(nodeId ? { nodeId } : {}),
});

const turn = () => {
  sequence = 0;
  return [
    event('run.started', { inputs: { input: 'sum' } }),
    event('model.replied', { model: 'm', message: { tool_calls: [{ function: { name: 'Calculator' } }] }, durationUs: 900 }),
    event('tool.called', { callId: 'c', arguments: { a: 1 } }, 'Calculator'),
    event('tool.returned', { callId: 'c', output: '2', record: { receipt: { duration_us: 40 } } }, 'Calculator'),
    event('run.completed', { text: 'It is 2.' }),
  ];
};

it('puts a call and its answer into one step', () => {
  const steps = stepsOf(turn());
  expect(steps.map((step) => [step.kind, step.title, step.brief])).toEqual([
    ['begin', 'Began', 'sum'],
    ['model', 'm answered', 'calls Calculator'],
    ['tool', 'Calculator', '2'],
    ['end', 'Completed', 'It is 2.'],
  ]);
  expect(steps[2]?.microseconds).toBe(40);
});

it('finds the first step that differs', () => {
  const other = turn();
  other[3] = { ...other[3]!, payload: { callId: 'c', output: '3' } };
  expect(compared(stepsOf(turn()), stepsOf(other)).map((row) => row.same)).toEqual([true, true, false, true]);
  expect(compared(stepsOf(turn()), []).every((row) => !row.same)).toBe(true);
});
