// The beginning: styles, who is there, and the page.
import './styles/tokens.css';
import './styles/base.css';
import { mount } from 'svelte';
import App from './App.svelte';
import { host } from './state/host.svelte';
import { owner } from './state/owner.svelte';

void owner.begin().then(() => host.count());
host.begin();
mount(App, { target: document.getElementById('app')! });
