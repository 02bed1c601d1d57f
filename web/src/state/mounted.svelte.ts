// Pages that are mounted in this browser. They outlive the view: a page goes on while the person looks elsewhere.
import type { ConsentAnswer, FrameState, PageFrame, PageMode } from '../../bridge/bridge.js';
import { send, type Asking } from '../api/client';
import { pages, type PageListing } from '../api/pages';
import type { RightState } from '../api/shapes';
import { notices } from './notices.svelte';
import { places, to } from './place.svelte';

/** What is mounted: a page of the workspace, or the page of an installed app. */
export interface Mountable {
  id: string;
  of: 'pages' | 'apps';
  name: string;
}

/** A question about rights that waits for the person. */
export interface Consent {
  page: Mountable;
  rights: RightState[];
  reply: (answers: Record<string, ConsentAnswer> | null) => void;
}

/** Why a page is no longer there, for the person who looks at the empty frame. */
const ENDINGS: Record<string, string> = {
  changed: 'Its files changed. Mount it again to run what is there now.',
  rights_changed: 'A right that the browser held for it was taken back.',
  left: 'The host heard nothing of it for two minutes.',
  lost: 'The host does not answer.',
  navigated: 'It tried to lead its frame elsewhere.',
};

/** One page in its frame. */
export class MountedPage {
  state = $state<FrameState>('loading');
  ending = $state('');
  tier = $state<'network-proof' | 'standard' | undefined>(undefined);
  mode = $state<PageMode | undefined>(undefined);
  rights = $state<RightState[]>([]);
  frame: PageFrame | undefined;
  private here!: (element: HTMLElement) => void;
  private readonly holder = new Promise<HTMLElement>((done) => (this.here = done));

  constructor(
    readonly key: string,
    readonly page: Mountable,
  ) {}

  /** The element that the frame goes into, once it is drawn. It is never moved: a frame that moves loads again. */
  hold = (element: HTMLElement): void => this.here(element);

  /** What the gate calls it. */
  get app(): string {
    return `page:${this.page.of === 'apps' ? 'installed.' : ''}${this.page.id}`;
  }

  async open(consent: (rights: RightState[]) => Promise<Record<string, ConsentAnswer> | null>): Promise<boolean> {
    const bridge = await import('../../bridge/bridge.js');
    const options = {
      // What the bridge does with an answer that is no success is its own: it reads the reason from it.
      api: (path: string, init: RequestInit = {}) => answered(path, init),
      id: this.page.id,
      of: this.page.of,
      mode: await modeOf(bridge),
      container: await this.holder,
      consent: (rights: unknown) => consent(rights as RightState[]),
      on: {
        state: (state: FrameState, why?: string) => {
          this.state = state;
          if (state === 'closed') this.ending = ENDINGS[why ?? ''] ?? '';
        },
        notify: ({ title, body }: { title: string; body: string }) => notices.done(`${this.page.name}: ${title}${body ? `. ${body}` : ''}`),
      },
    };
    const frame = await bridge.mountPage(options);
    if (!frame) return false;
    this.frame = frame;
    [this.tier, this.mode, this.rights, this.state] = [frame.tier, frame.mode, frame.rights as RightState[], frame.state];
    return true;
  }

  /** Asks what holds for it now. */
  async look(): Promise<void> {
    if (!this.frame || this.state === 'closed') return;
    await pages.session(this.frame.session).then((now) => (this.rights = now.rights), () => undefined);
  }
}

/** Tries of whether host names of pages lead to this host: a machine that was busy once must not cost the pages their origin. */
const TRIES_MAX = 2;
let tries = 0;
let modeHere: Promise<PageMode> | undefined;

async function modeOf(bridge: { probeMode: () => Promise<PageMode> }): Promise<PageMode> {
  modeHere ??= bridge.probeMode().then((mode) => {
    tries += 1;
    if (mode === 'opaque' && tries < TRIES_MAX) modeHere = undefined;
    return mode;
  });
  return modeHere;
}

/** As `fetch`, with what proves the owner. */
async function answered(path: string, init: RequestInit): Promise<Response> {
  const asking: Asking = { method: (init.method ?? 'GET') as NonNullable<Asking['method']> };
  if (init.signal) asking.signal = init.signal;
  if (typeof init.body === 'string') asking.body = JSON.parse(init.body) as unknown;
  return send(path, asking);
}

class MountedPages {
  all = $state<MountedPage[]>([]);
  consent = $state<Consent | undefined>(undefined);
  isTiled = $state(false);
  private last = 0;
  private begun = false;
  private questions: Promise<unknown> = Promise.resolve();

  /** Mounts what was allowed to mount itself. A page that has anything to ask is left for the person. */
  async begin(): Promise<void> {
    if (this.begun) return;
    this.begun = true;
    const found = await pages.list().catch(() => [] as PageListing[]);
    for (const page of found.filter((one) => one.mountsItself)) {
      await this.add({ id: page.id, of: 'pages', name: page.name ?? page.id }, async () => null);
    }
  }

  /** Mounts a page and shows it. */
  async mount(page: Mountable): Promise<void> {
    const mounted = await this.add(page, (rights) => this.ask(page, rights));
    if (mounted) places.go(this.address(mounted));
  }

  of(page: Mountable): MountedPage | undefined {
    return this.all.find((one) => one.page.id === page.id && one.page.of === page.of && one.state !== 'closed');
  }

  address(mounted: MountedPage): string {
    return to('apps', 'open', mounted.key);
  }

  /** Ends a page; also one that does not answer, because nobody asks it. */
  async unmount(mounted: MountedPage): Promise<void> {
    this.all = this.all.filter((one) => one !== mounted);
    await mounted.frame?.unmount();
  }

  async again(mounted: MountedPage): Promise<void> {
    await this.unmount(mounted);
    await this.mount(mounted.page);
  }

  /** Looks at the rights of everything that is open: something was given or taken back. */
  look(): void {
    for (const mounted of this.all) void mounted.look();
  }

  private async add(page: Mountable, consent: (rights: RightState[]) => Promise<Record<string, ConsentAnswer> | null>): Promise<MountedPage | undefined> {
    const mounted = new MountedPage(`${++this.last}`, page);
    this.all = [...this.all, mounted];
    const isOpen = await mounted.open(consent).catch((error: unknown) => {
      notices.failed(error);
      return false;
    });
    if (isOpen) return mounted;
    this.all = this.all.filter((one) => one !== mounted);
    return undefined;
  }

  /** One question at a time, whatever was asked for. */
  private ask(page: Mountable, rights: RightState[]): Promise<Record<string, ConsentAnswer> | null> {
    const asked = this.questions.then(
      () =>
        new Promise<Record<string, ConsentAnswer> | null>((reply) => {
          this.consent = { page, rights, reply };
        }),
    );
    this.questions = asked.then(() => (this.consent = undefined));
    return asked;
  }
}

export const mounted = new MountedPages();
