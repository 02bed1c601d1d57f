// What the host's routes answer with, as far as the page reads it.

export interface Failure {
  reason: string;
  message: string;
  line?: number;
  next: string;
}

export type AgentState = 'ready' | 'failed' | 'shadowed' | 'disabled';

export interface Agent {
  name: string;
  file: string;
  source?: string;
  language: 'python' | 'typescript' | 'native';
  state: AgentState;
  reason?: Failure;
  description: string;
  parameters: Schema;
  serving?: 'current' | 'last_good';
  digest?: string;
}

/** A JSON schema, as far as forms understand it. */
export interface Schema {
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  default?: unknown;
  items?: Schema;
  minimum?: number;
  maximum?: number;
  format?: string;
}

export interface Receipt {
  call: string;
  run?: string;
  enforcement: {
    level: string;
    landlock_abi: number | null;
    seccomp: boolean;
    namespaces: string[];
    network: unknown;
    enforced: string[];
    missing: string[];
  };
  rights: string[];
  limits: Record<string, number>;
  environment: string[];
  digest: string;
  serving: string;
  worker: { pid?: number; reused?: boolean };
  duration_us: number;
  cpu_us: number;
  peak_memory_kb: number;
  traffic: { host: string; sent?: number; received?: number }[];
  refused: { what: string; right?: string; count: number; next: string }[];
  stray_processes: number;
  workspace?: { committed?: { path: string; version: number; removed?: boolean }[] };
}

export interface Outcome {
  agent: string;
  output: string;
  error?: Failure;
  slush?: Record<string, unknown>;
  receipt: Receipt;
}

export interface RightState {
  right: string;
  sentence: string;
  state:
    | 'granted_once'
    | 'granted_version'
    | 'granted_always'
    | 'policy'
    | 'not_granted'
    | 'not_asked'
    | 'forbidden'
    | 'unusable';
  evidence?: string;
  line?: number;
  original?: string;
  next?: string;
}

export type Lasting = 'once' | 'version' | 'always';

export interface AppRights {
  app: string;
  digest: string;
  origin: string;
  declared: boolean;
  rights: RightState[];
}

export interface Model {
  id: string;
  name: string;
  provider: string;
  available?: boolean;
}

export interface Health {
  status: string;
  version: string;
  model: string | null;
  provider?: string | null;
  agents: string[];
  quarantined: { file: string; class: string; reason: string; code: string }[];
  voice_mode?: boolean;
  twin_mode?: boolean;
}

export interface ToolRecord {
  id: string;
  name: string;
  args: unknown;
  output?: string;
  duration_us?: number;
  receipt?: Receipt;
  error?: string;
  reason?: string;
  next?: string;
}

export interface Choice {
  agent: string;
  description: string;
  example: string;
}

export interface ChatDone {
  response: string;
  voice_response: string;
  twin_response: string;
  session_id: string;
  agent_calls: ToolRecord[];
  model: string | null;
  requested_model: string | null;
  usage?: { prompt_tokens: number; completion_tokens: number; completions: number };
  tools_left_out: number;
  history_left_out: number;
  run_id?: string;
  offer?: { text: string; choices: Choice[] };
}

export interface ConversationRow {
  session_id: string;
  title: string;
  time: string;
  turns: number;
}

export interface FileRow {
  path: string;
  contentType: string;
  version: number;
  etag: string;
  updatedAt: string;
}

export interface WorkspaceFile extends FileRow {
  content: string;
}

export interface Author {
  principal: string;
  run: string | null;
  node: string | null;
  reason: string | null;
}

export interface Version {
  version: number;
  removed: boolean;
  bytes: number;
  contentType: string;
  updatedAt: string;
  sha256: string;
  author: Author;
}

export interface Difference {
  diff: 'same' | 'unified' | 'binary' | 'too_large';
  text?: string;
}

export interface Usage {
  files: number;
  bytes: number;
  historyBytes: number;
  versions: number;
  revision: number;
  limits: { maxFiles: number; maxFileBytes: number; maxVersions: number; maxWorkspaceBytes: number };
  perFile?: { path: string; bytes: number }[];
}

export interface FileRequest {
  id: string;
  app: string;
  folder: string;
  prompt: string;
  patterns: string[];
  asked: string;
}

export interface Proposal {
  id: number;
  path: string;
  removes: boolean;
  contentType: string;
  bytes: number;
  proposedAt: string;
  author: Author;
}

export interface ShownProposal extends Proposal {
  content: string | null;
  encoding: string | null;
  current: boolean;
  difference: Difference;
}

export interface Run {
  runId: string;
  workflowId: string;
  kind: string;
  title: string;
  status: string;
  startedAt: string;
  endedAt?: string;
  sourceRunId?: string;
  workspace?: { path: string; version: number }[];
  inputs?: unknown;
}

export interface RunEvent {
  eventId: string;
  type: string;
  payload: Record<string, unknown>;
  timestamp: string;
  sequence: number;
  nodeId?: string;
}

export interface Replay {
  run: string;
  same: boolean;
  steps: number;
  difference?: unknown;
}

export interface AuditRow {
  sequence: number;
  time: string;
  app: string;
  digest?: string;
  origin?: string;
  what: string;
  right?: string;
  detail?: string;
  decision: string;
  why?: string;
  count: number;
  hash: string;
}

export interface Explanation {
  subject: string;
  works: boolean;
  reason?: string;
  cause: string;
  place?: string;
  evidence?: string[];
  next: string;
}

export interface Finding {
  name: string;
  state: 'ok' | 'limited' | 'missing';
  detail: string;
  cost?: string;
  next?: string;
}

export interface Token {
  id: string;
  tenant: string;
  workspace: string;
  scopes: string[];
  note: string;
  created: string;
  expires?: string;
  revoked?: string;
}

export interface Secret {
  name: string;
  set_at: string;
  used_by: { app: string; right: string }[];
}

export interface Catalog {
  id: string;
  address: string;
  kind: string;
  state: 'ready' | 'stale' | 'failed' | 'unfetched';
  name?: string;
  entries: number;
  bad_entries: number;
  age_seconds?: number;
  reason?: Failure;
}

export interface FoundEntry {
  id: string;
  publisher: string | null;
  name: string;
  version: string;
  summary: string;
  category: string;
  tags: string[];
  quality_tier: string;
  access: string;
  parts: string[];
  source: string;
  shadowed_by?: string;
}

export interface ShownEntry extends FoundEntry {
  wanted_version: string;
  versions: string[];
  license: string;
  files: { kind: string; file_name: string; url: string; sha256: string | null; bytes: number | null }[];
  private_repo?: string;
  auth_hint?: string;
  access_note?: string;
  also_in: string[];
  age_seconds?: number;
  entry: Record<string, unknown>;
}
