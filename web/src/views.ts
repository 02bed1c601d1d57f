// Every view of the page, in the order of the navigation. A new one is an entry here and a component.
import type { Component } from 'svelte';
import type { IconName } from './parts/Icon.svelte';

export interface View {
  /** As it stands in addresses: `#/agents`. */
  id: string;
  label: string;
  icon: IconName;
  /** What the command palette says of it. */
  about: string;
  /** Pressed after `g`. */
  key: string;
  load: () => Promise<{ default: Component }>;
  /** Reached by links and the palette only. */
  isHidden?: boolean;
}

export const VIEWS: View[] = [
  { id: 'chat', label: 'Chat', icon: 'chat', about: 'Talk, and watch agents work', key: 'c', load: () => import('./views/Chat.svelte') },
  { id: 'agents', label: 'Agents', icon: 'agents', about: 'Run, read, edit and import agents', key: 'a', load: () => import('./views/Agents.svelte') },
  { id: 'apps', label: 'Apps', icon: 'apps', about: 'Mount pages beside this one, each kept apart', key: 'm', load: () => import('./views/Apps.svelte') },
  { id: 'files', label: 'Workspace', icon: 'files', about: 'Files with history', key: 'f', load: () => import('./views/Workspace.svelte') },
  { id: 'runs', label: 'Runs', icon: 'runs', about: 'What happened, step by step', key: 'r', load: () => import('./views/Runs.svelte') },
  { id: 'approvals', label: 'Approvals', icon: 'approvals', about: 'What waits for your word', key: 'p', load: () => import('./views/Approvals.svelte') },
  { id: 'audit', label: 'Audit', icon: 'audit', about: 'Every decision, and whether the record is whole', key: 'u', load: () => import('./views/Audit.svelte') },
  { id: 'store', label: 'Store', icon: 'store', about: 'Find, install and update apps', key: 's', load: () => import('./views/Store.svelte') },
  { id: 'settings', label: 'Settings', icon: 'settings', about: 'Models, secrets, tokens, this machine', key: 'e', load: () => import('./views/Settings.svelte') },
  { id: 'why', label: 'Why', icon: 'why', about: 'Why something does not work', key: 'w', load: () => import('./views/Why.svelte'), isHidden: true },
];

export function viewOf(id: string): View {
  return VIEWS.find((view) => view.id === id) ?? VIEWS[0]!;
}
