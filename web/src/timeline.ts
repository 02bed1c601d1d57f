// A run as a person reads it: its events as steps, with the time each began and took.
import type { RunEvent } from './api/shapes';

export interface Step {
  sequence: number;
  kind: 'begin' | 'model' | 'tool' | 'end' | 'other';
  title: string;
  brief: string;
  /** From the beginning of the run, in milliseconds. */
  at: number;
  microseconds?: number;
  failed: boolean;
  input?: unknown;
  output?: unknown;
}

const ENDS = ['run.completed', 'run.failed', 'run.cancelled'];

export function stepsOf(events: RunEvent[]): Step[] {
  const begun = Date.parse(events[0]?.timestamp ?? '') || 0;
  const answered = new Set<string>();
  const steps: Step[] = [];
  for (const event of events) {
    const at = Math.max(0, Date.parse(event.timestamp) - begun);
    const step = stepOf(event, events, answered);
    if (step) steps.push({ ...step, sequence: event.sequence, at });
  }
  return steps;
}

type Bare = Omit<Step, 'sequence' | 'at'>;

function stepOf(event: RunEvent, all: RunEvent[], answered: Set<string>): Bare | undefined {
  const payload = event.payload;
  if (event.type === 'run.started') {
    return { kind: 'begin', title: 'Began', brief: begunWith(payload['inputs']), failed: false, input: payload['inputs'] ?? payload };
  }
  if (event.type === 'model.replied' || event.type === 'model.failed') {
    const failed = event.type === 'model.failed';
    const message = payload['message'] as { content?: unknown; tool_calls?: { function?: { name?: string } }[] } | undefined;
    const calls = message?.tool_calls?.map((call) => call.function?.name ?? '?') ?? [];
    const brief = failed ? words(payload['error']) : calls.length ? `calls ${calls.join(', ')}` : words(message?.content);
    return {
      kind: 'model',
      title: `${String(payload['model'] ?? 'Model')} ${failed ? 'did not answer' : 'answered'}`,
      brief,
      failed,
      input: payload['asked'],
      output: failed ? payload['error'] : payload['message'],
      ...took(payload['durationUs']),
    };
  }
  if (event.type === 'tool.called') {
    const id = String(payload['callId']);
    const returned = all.find(
      (other) => other.type === 'tool.returned' && other.sequence > event.sequence && String(other.payload['callId']) === id && !answered.has(other.eventId),
    );
    if (returned) answered.add(returned.eventId);
    const record = returned?.payload['record'] as { receipt?: { duration_us?: number } } | undefined;
    const failed = returned?.payload['error'] !== undefined;
    return {
      kind: 'tool',
      title: event.nodeId ?? 'Agent',
      brief: words(failed ? returned?.payload['error'] : returned?.payload['output']),
      failed,
      input: payload['arguments'],
      output: returned ? (returned.payload['error'] ?? returned.payload['output']) : undefined,
      ...took(record?.receipt?.duration_us),
    };
  }
  if (event.type === 'tool.returned' && all.some((other) => other.type === 'tool.called' && other.payload['callId'] === payload['callId'])) return undefined;
  if (ENDS.includes(event.type)) {
    const failed = event.type !== 'run.completed';
    const output = payload['text'] ?? payload['output'] ?? payload['error'];
    return { kind: 'end', title: event.type === 'run.completed' ? 'Completed' : event.type === 'run.failed' ? 'Failed' : 'Cancelled', brief: words(output), failed, output: output ?? payload };
  }
  return { kind: 'other', title: event.type, brief: '', failed: false, output: payload };
}

/** What a person said, where somebody said something; else the arguments. */
function begunWith(inputs: unknown): string {
  const known = (inputs ?? {}) as { input?: unknown; arguments?: unknown };
  return words(known.input ?? known.arguments ?? inputs);
}

function took(value: unknown): { microseconds?: number } {
  return typeof value === 'number' ? { microseconds: value } : {};
}

function words(value: unknown): string {
  if (value === undefined || value === null) return '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
}

/** Two runs side by side: steps of the same place, and whether they say the same. */
export function compared(one: Step[], other: Step[]): { left?: Step; right?: Step; same: boolean }[] {
  const rows: { left?: Step; right?: Step; same: boolean }[] = [];
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [left, right] = [one[at], other[at]];
    const same =
      left !== undefined && right !== undefined && left.title === right.title && JSON.stringify([left.input, left.output]) === JSON.stringify([right.input, right.output]);
    rows.push({ ...(left ? { left } : {}), ...(right ? { right } : {}), same });
  }
  return rows;
}
