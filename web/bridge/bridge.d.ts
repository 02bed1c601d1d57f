// Types of bridge.js, for host pages written in TypeScript.

export type PageMode = 'origin' | 'opaque';
export type ConsentAnswer = 'deny' | 'once' | 'always';
export type FrameState = 'loading' | 'running' | 'silent' | 'closed';

/** A right as the host shows it. */
export interface RightState {
  right: string;
  sentence: string;
  state: string;
  original?: string;
  next?: string;
}

/** What a mounted page says of itself. */
export interface MountedPage {
  id: string;
  name: string;
  version: string;
  entry: string;
  description?: string;
  author?: string;
  agent?: string;
  display: { width?: string; height?: string; resizable?: boolean; position?: string };
}

/** Sends a request to the host with whatever proves its owner. */
export type Api = (path: string, init?: RequestInit) => Promise<Response>;

export interface FrameEvents {
  state?: (state: FrameState, why?: string) => void;
  notify?: (notice: { page: MountedPage; title: string; body: string }) => void;
}

export interface MountOptions {
  api: Api;
  id: string;
  /** Whose page it is: one of the workspace, or an installed app's. */
  of?: 'pages' | 'apps';
  container: HTMLElement;
  mode?: PageMode;
  base?: string;
  consent: (ask: RightState[], digest: string) => Record<string, ConsentAnswer> | null | Promise<Record<string, ConsentAnswer> | null>;
  on?: FrameEvents;
}

export declare class PageFrame {
  readonly session: string;
  readonly page: MountedPage;
  readonly mode: PageMode;
  readonly tier: 'network-proof' | 'standard';
  readonly rights: RightState[];
  readonly state: FrameState;
  readonly element: HTMLIFrameElement;
  unmount(): Promise<void>;
}

export declare function probeMode(options?: { base?: string; document?: Document }): Promise<PageMode>;
export declare function mountPage(options: MountOptions): Promise<PageFrame | null>;
export declare function isSmall(value: unknown): boolean;
