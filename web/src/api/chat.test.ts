// Streams as they arrive: in pieces that end anywhere.
import { expect, it } from 'vitest';
import { lines, understood } from './chat';

function stream(...pieces: string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      pieces.forEach((piece) => controller.enqueue(encoder.encode(piece)));
      controller.close();
    },
  });
}

it('puts lines together, whatever the pieces are', async () => {
  const read: string[] = [];
  for await (const line of lines(stream('da', 'ta: {"a"', ':1}\n\n: ping\n\nda', 'ta: x\r\n', 'event: y\n'))) read.push(line);
  expect(read).toEqual(['{"a":1}', 'x']);
});

it('knows four kinds of events and passes over the others', () => {
  expect(understood('{"type":"delta","text":"hi"}')).toEqual({ type: 'delta', text: 'hi' });
  expect(understood('{"type":"agent","logs":""}')).toBeUndefined();
  expect(understood('not json')).toBeUndefined();
  const failed = understood('{"type":"error","error":"no","reason":"model_limited","next":"wait"}');
  expect(failed?.type === 'error' && [failed.failed.reason, failed.failed.next]).toEqual(['model_limited', 'wait']);
});
