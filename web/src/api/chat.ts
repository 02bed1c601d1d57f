// One message in, its answer as it is written.
import { failureIn, send, type Failed } from './client';
import type { ChatDone, ToolRecord } from './shapes';

export type ChatEvent =
  | { type: 'tool'; state: 'started' | 'finished'; call: ToolRecord }
  | { type: 'delta'; text: string }
  | { type: 'done'; answer: ChatDone }
  | { type: 'error'; failed: Failed };

export interface Said {
  role: 'user' | 'assistant';
  content: string;
}

export interface Question {
  input: string;
  history: Said[];
  session: string;
  model?: string | undefined;
}

/** Asks, and tells what happens. Aborting the signal ends the turn on the host too. */
export async function* converse(question: Question, signal: AbortSignal): AsyncGenerator<ChatEvent> {
  const body = {
    user_input: question.input,
    conversation_history: question.history,
    session_id: question.session,
    ...(question.model ? { model: question.model } : {}),
  };
  const response = await send('/chat/stream', { method: 'POST', body, signal });
  for await (const data of lines(response.body!)) {
    const event = understood(data);
    if (event) yield event;
  }
}

/** The data lines of a stream of server-sent events. */
export async function* lines(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream() as TransformStream<Uint8Array, string>).getReader();
  let rest = '';
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += value;
      let end;
      while ((end = rest.indexOf('\n')) >= 0) {
        const line = rest.slice(0, end).replace(/\r$/, '');
        rest = rest.slice(end + 1);
        if (line.startsWith('data:')) yield line.slice(5).trimStart();
      }
    }
  } finally {
    reader.releaseLock();
  }
}

/** Events of kinds that are not known are passed over, as the wire asks. */
export function understood(data: string): ChatEvent | undefined {
  let event: Record<string, unknown>;
  try {
    event = JSON.parse(data) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  switch (event['type']) {
    case 'tool':
      return { type: 'tool', state: event['state'] as 'started' | 'finished', call: event as unknown as ToolRecord };
    case 'delta':
      return { type: 'delta', text: String(event['text']) };
    case 'done':
      return { type: 'done', answer: event as unknown as ChatDone };
    case 'error':
      return { type: 'error', failed: failureIn(event, 200) };
    default:
      return undefined;
  }
}
