// The conversation that is open: what was said, what is being said, and how it is kept.
import { converse, type Said } from '../api/chat';
import { ask, asFailed, type Failed } from '../api/client';
import type { Choice, ConversationRow, ToolRecord } from '../api/shapes';
import { host } from './host.svelte';
import { owner } from './owner.svelte';

export interface Call extends ToolRecord {
  running: boolean;
}

export interface Message {
  role: 'user' | 'assistant';
  content: string;
  calls: Call[];
  twin?: string;
  voice?: string;
  model?: string | null;
  run?: string;
  tokens?: number;
  choices?: Choice[];
  failed?: Failed;
  stopped?: boolean;
}

/** What is kept of an agent's output in a conversation; the run has all of it. */
const KEPT_OUTPUT_CHARACTERS_MAX = 20_000;

/** One that is kept by the host, as its file has it. */
interface Kept {
  role: string;
  content: string;
  calls?: ToolRecord[];
  twin?: string;
  voice?: string;
  model?: string | null;
  run?: string;
}

class Conversation {
  id = $state(crypto.randomUUID() as string);
  messages = $state<Message[]>([]);
  busy = $state(false);
  model = $state<string | undefined>(undefined);
  list = $state<ConversationRow[]>([]);
  failed = $state<Failed | undefined>(undefined);
  /** Called with each whole answer, where somebody wants to hear it. */
  onAnswer: ((message: Message) => void) | undefined;
  private stopping: AbortController | undefined;

  begin(): void {
    this.stop();
    this.id = crypto.randomUUID();
    this.messages = [];
    this.failed = undefined;
  }

  async open(id: string): Promise<void> {
    if (id === this.id) return;
    this.stop();
    this.failed = undefined;
    try {
      const kept = await ask<{ messages: Kept[] }>(`/conversations/${encodeURIComponent(id)}`);
      this.id = id;
      this.messages = kept.messages.filter((message) => message.role !== 'tool' && message.content).map(restored);
    } catch (error) {
      this.failed = asFailed(error);
    }
  }

  async refresh(): Promise<void> {
    if (!owner.is) return;
    const found = await ask<{ conversations: ConversationRow[] }>('/conversations').catch(() => undefined);
    if (found) this.list = found.conversations;
  }

  async remove(id: string): Promise<void> {
    await ask(`/conversations/${encodeURIComponent(id)}`, { method: 'DELETE' });
    if (id === this.id) this.begin();
    await this.refresh();
  }

  stop(): void {
    this.stopping?.abort();
  }

  async say(input: string): Promise<void> {
    if (this.busy || !input.trim()) return;
    const history: Said[] = this.messages
      .filter((message) => !message.failed && message.content)
      .map(({ role, content }) => ({ role, content }));
    this.messages.push({ role: 'user', content: input, calls: [] }, { role: 'assistant', content: '', calls: [] });
    const answer = this.messages.at(-1)!;
    this.busy = true;
    this.stopping = new AbortController();
    const { signal } = this.stopping;
    try {
      await this.listen(answer, { input, history, session: this.id, model: this.model }, signal);
    } catch (error) {
      if (signal.aborted) answer.stopped = true;
      else answer.failed = asFailed(error);
    } finally {
      answer.calls.forEach((call) => (call.running = false));
      this.busy = false;
    }
    if (!answer.failed && answer.content) {
      this.onAnswer?.(answer);
      await this.keep(input, answer);
    }
    // A turn may have changed which model answers, and what waits for the owner.
    void host.look();
    void host.count();
  }

  /** The last question once more. */
  async again(): Promise<void> {
    const last = this.messages.findLastIndex((message) => message.role === 'user');
    if (last < 0 || this.busy) return;
    const [question] = this.messages.splice(last);
    await this.say(question!.content);
  }

  private async listen(answer: Message, question: Parameters<typeof converse>[0], signal: AbortSignal): Promise<void> {
    // Words come faster than they can be drawn: once in a frame is enough.
    let pending = '';
    let drawing = 0;
    const draw = () => {
      drawing = 0;
      answer.content += pending;
      pending = '';
    };
    try {
      for await (const event of converse(question, signal)) {
        if (event.type === 'delta') {
          pending += event.text;
          drawing ||= requestAnimationFrame(draw);
        } else if (event.type === 'tool') {
          note(answer, event.call, event.state === 'started');
        } else if (event.type === 'error') {
          throw event.failed;
        } else {
          pending = '';
          const { response, twin_response, voice_response, model, run_id, usage, offer, agent_calls } = event.answer;
          answer.content = response;
          answer.model = model;
          if (twin_response) answer.twin = twin_response;
          if (voice_response) answer.voice = voice_response;
          if (run_id) answer.run = run_id;
          if (usage) answer.tokens = usage.prompt_tokens + usage.completion_tokens;
          if (offer) answer.choices = offer.choices;
          agent_calls.forEach((call) => note(answer, call, false));
        }
      }
    } finally {
      cancelAnimationFrame(drawing);
      answer.content += pending;
    }
  }

  private async keep(input: string, answer: Message): Promise<void> {
    if (!owner.is) return;
    const calls = answer.calls.map(({ running: _, ...call }) => ({ ...call, output: call.output?.slice(0, KEPT_OUTPUT_CHARACTERS_MAX) }));
    const { content, twin, voice, model, run } = answer;
    const messages = [
      { role: 'user', content: input },
      { role: 'assistant', content, calls, twin, voice, model, run },
    ];
    await ask(`/conversations/${this.id}`, { method: 'POST', body: { messages } }).catch(() => undefined);
    await this.refresh();
  }
}

function note(answer: Message, call: ToolRecord, running: boolean): void {
  const known = answer.calls.find((one) => one.id === call.id);
  if (known) Object.assign(known, call, { running });
  else answer.calls.push({ ...call, running });
}

function restored(kept: Kept): Message {
  const role = kept.role === 'user' ? 'user' : 'assistant';
  const calls = (kept.calls ?? []).map((call) => ({ ...call, running: false }));
  const { twin, voice, model, run } = kept;
  return {
    role,
    content: String(kept.content),
    calls,
    ...(twin ? { twin } : {}),
    ...(voice ? { voice } : {}),
    ...(model ? { model } : {}),
    ...(run ? { run } : {}),
  };
}

export const conversation = new Conversation();
