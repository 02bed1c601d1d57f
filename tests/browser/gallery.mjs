// A home as somebody has it after a week: agents, a conversation, files with history, open pages, a store. For pictures.
import { createServer } from 'node:http';
import { agent } from './scene.mjs';

const text = (name) => `{"type": "object", "properties": {"${name}": {"type": "string", "description": "Which ${name} is meant."}}}`;

export const agents = {
  'calendar_agent.py': agent('Calendar', 'Reads and plans appointments of a day.', text('day'), `return "09:30 Stand-up\\n11:00 Design review, room 4\\n14:15 Call with Mara\\n17:00 Train to Porto"`),
  'weather_agent.py': agent('Weather', 'Tells the weather of a city, now and for the next days.', text('city'), `import os, urllib.request
        key = os.environ.get("WEATHER_KEY", "")
        return urllib.request.urlopen(f"https://api.weather.example/now?key={key}").read().decode()`),
  'notes_agent.py': agent('Notes', 'Keeps notes as Markdown files with history.', text('text'), `from utils.workspace import write_text
        write_text("today.md", kwargs.get("text", ""))
        return "kept as today.md"`),
  'invoices_agent.py': agent('Invoices', 'Reads invoices and sums them up by month and client.', text('month'), `from utils.workspace import request_files
        request_files("Which invoices of October should be counted?", ["*.pdf", "*.csv"])
        return "I asked for the files of October; the sum comes when they are there."`),
  'translate_agent.py': agent('Translate', 'Translates a text and keeps its tone.', `{"type": "object", "properties": {
        "text": {"type": "string", "description": "What is to be translated."},
        "language": {"enum": ["Portuguese", "German", "French"], "description": "Into which language."},
        "formal": {"type": "boolean", "description": "Whether strangers are spoken to."}}, "required": ["text"]}`, `return "Bom dia! A reunião começa às onze."`),
  'digest_agent.py': 'from agents.basic_agent import BasicAgent\n\n\nclass DigestAgent(BasicAgent):\n    def perform(self, **kwargs):\n        return (\n',
};

/** What the model says to what, and which tools it asks first. */
const SCRIPT = [
  {
    said: 'What is on today?',
    calls: [['Calendar', { day: 'today' }]],
    answer: `Four things today, and the afternoon is tight:

| When | What | Where |
|---|---|---|
| 09:30 | Stand-up | online |
| 11:00 | **Design review** | room 4 |
| 14:15 | Call with Mara | online |
| 17:00 | Train to Porto | Santa Apolónia |

Leave by **16:20** to reach the train. I can move the call half an hour forward, if that helps.`,
  },
  {
    said: 'Write that down as a plan I can print.',
    calls: [['Notes', { text: '# Today\n\n- 09:30 stand-up\n- 11:00 design review, room 4\n- 14:15 call with Mara\n- 17:00 train to Porto' }]],
    answer: `Done. It is in \`today.md\`, with every earlier version kept:

\`\`\`markdown
# Today

- 09:30 stand-up
- 11:00 design review, room 4
- 14:15 call with Mara
- 17:00 train to Porto
\`\`\`

Anything that changes is written as a new version, so nothing gets lost.`,
  },
  { said: 'Sum up the invoices of October.', calls: [['Invoices', { month: 'October' }]], answer: 'The agent needs the files of October first. Its question waits for you under **Approvals**.' },
  { said: 'How warm is it in Lisbon?', calls: [['Weather', { city: 'Lisbon' }]], answer: 'I could not ask the weather service: the agent was not given the right to reach it. You can grant it under **Approvals**.' },
];

/** A model on loopback that follows the script. */
export async function model() {
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    response.setHeader('Content-Type', 'application/json');
    if (!request.url.endsWith('/chat/completions')) return response.end('{"data": [{"id": "sonata-3"}]}');
    const { messages, stream } = JSON.parse(Buffer.concat(pieces).toString());
    const said = messages.filter((one) => one.role === 'user').at(-1)?.content ?? '';
    const scene = SCRIPT.find((one) => said.includes(one.said)) ?? { calls: [], answer: 'Of course.' };
    const isTold = messages.at(-1).role === 'tool' || scene.calls.length === 0;
    const calls = scene.calls.map(([name, args], at) => ({ index: at, id: `call_${at}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }));
    const message = isTold ? { role: 'assistant', content: scene.answer } : { role: 'assistant', content: null, tool_calls: calls };
    const finish_reason = isTold ? 'stop' : 'tool_calls';
    const usage = { prompt_tokens: 812, completion_tokens: 164, total_tokens: 976 };
    const whole = { id: 'x', object: 'chat.completion', model: 'sonata-3', usage };
    if (!stream) return response.end(JSON.stringify({ ...whole, choices: [{ index: 0, message, finish_reason }] }));
    response.setHeader('Content-Type', 'text/event-stream');
    const send = (choice, more = {}) => response.write(`data: ${JSON.stringify({ ...whole, ...more, object: 'chat.completion.chunk', choices: [choice] })}\n\n`);
    send({ index: 0, delta: message, finish_reason: null });
    send({ index: 0, delta: {}, finish_reason });
    response.end('data: [DONE]\n\n');
  });
  await new Promise((done) => server.listen(0, '127.0.0.1', done));
  return { url: `http://127.0.0.1:${server.address().port}/v1`, close: () => server.close() };
}

export const said = SCRIPT.map((one) => one.said);

const LOOK = `<meta name="viewport" content="width=device-width"><style>
  :root { color-scheme: light; font: 15px/1.5 system-ui, sans-serif; color: #23303a; background: #f6f8fa; }
  body { margin: 0; padding: 20px; display: grid; gap: 14px; } h1 { font-size: 17px; margin: 0; }
  .card { background: #fff; border: 1px solid #dde4ea; border-radius: 12px; padding: 14px 16px; }
  .row { display: flex; align-items: center; gap: 10px; } .soft { color: #64727e; font-size: 13px; }
  .bar { height: 10px; border-radius: 6px; background: #e5ebf0; overflow: hidden; flex: 1; } .bar i { display: block; height: 100%; background: #2f74c0; }
  b { font-size: 24px; }</style>`;

export const pages = [
  {
    manifest: { id: 'month-budget', name: 'Month budget', description: 'Where the money of the month goes, drawn from the files you keep.', permissions: { vfs: { read: ['/finance/*'] } } },
    html: `<!doctype html><html lang="en"><head><title>Budget</title>${LOOK}</head><h1>November</h1>
      <div class="card"><span class="soft">Spent so far</span><br><b>1 284 €</b> <span class="soft">of 2 100 €</span></div>
      <div class="card">${[['Rent', 72], ['Groceries', 41], ['Trains', 58], ['Books', 19]].map(([name, part]) => `<p class="row"><span style="width:90px">${name}</span><span class="bar"><i style="width:${part}%"></i></span><span class="soft">${part} %</span></p>`).join('')}</div></html>`,
  },
  {
    manifest: { id: 'reading-list', name: 'Reading list', description: 'Books to read and books that were read, with a note for each.', permissions: { vfs: { read: ['/apps/reading-list/data/*'], write: ['/apps/reading-list/data/*'] } } },
    html: `<!doctype html><html lang="en"><head><title>Reading list</title>${LOOK}</head><h1>Reading list</h1>
      ${[['The Left Hand of Darkness', 'halfway'], ['A Pattern Language', 'now and then'], ['The Peregrine', 'next'], ['Seeing Like a State', 'read in October']].map(([title, state]) => `<div class="card row"><span style="flex:1">${title}</span><span class="soft">${state}</span></div>`).join('')}</html>`,
  },
  {
    manifest: { id: 'home-energy', name: 'Home energy', description: 'Power of the last day, hour by hour.', permissions: { network: ['https://meter.example.org'], vfs: { read: ['/*'] } } },
    html: `<!doctype html><html lang="en"><head><title>Energy</title>${LOOK}</head><h1>Home energy</h1></html>`,
  },
];

export const files = {
  'finance/november.csv': 'day,what,euro\n1,rent,780\n3,groceries,64\n7,trains,92\n',
  'plans/porto.md': '# Porto\n\n- train at 17:00 from Santa Apolónia\n- hotel near São Bento\n- dinner with Mara and Luís\n',
  'README.md': '# My workspace\n\nPlans, notes and what the agents keep for me.\n',
};

/** Apps of the store: id, name, summary, publisher. */
export const shelf = [
  ['trip_planner', 'Trip planner', 'Plans a journey day by day, with trains, places and what they cost.', '@mara'],
  ['invoice_reader', 'Invoice reader', 'Reads invoices and writes them into one table.', '@ledger'],
  ['meeting_notes', 'Meeting notes', 'Turns what was said into decisions, tasks and open questions.', '@ada'],
  ['recipe_box', 'Recipe box', 'Keeps recipes, scales them, and writes the shopping list.', '@noor'],
  ['plant_care', 'Plant care', 'Knows every plant at home and says which one is thirsty.', '@noor'],
];

/** A program: its manifest, and what it is asked before its picture is taken. */
export const program = {
  id: 'com.example.mail-desk',
  name: 'Mail desk',
  version: '1.4.0',
  description: 'Sorts the mail of the day and drafts answers that you send yourself.',
  provides: ['tool:echo', 'ui'],
  permissions: ['oauth:google', 'network:mail.example.org'],
  oauth: [{ provider: 'google', scopes: ['mail.read', 'mail.compose'] }],
  settings: [
    { key: 'signature', title: 'Signature', required: true, description: 'Stands below every draft.' },
    { key: 'key', title: 'Key of the archive', type: 'password', description: 'Only for mail that is older than a year.' },
    { key: 'tone', title: 'Tone', type: 'select', options: [{ label: 'Short and warm', value: 'warm' }, { label: 'Formal', value: 'formal' }], default: 'warm' },
    { key: 'quiet', title: 'Write no drafts at the weekend', type: 'toggle' },
  ],
};
export const programSettings = ['signature=Best wishes, Ada', 'key=kept-by-the-host', 'quiet=true'];
