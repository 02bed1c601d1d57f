// Native apps of a story: the program that the Rust stories use too, in a folder with a manifest, or signed and packed.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAMS } from './scene.mjs';

/** The folder of an app that says what it was told. `files` lie beside its manifest: `{path: text}`. */
export function folder(scene, manifest, files = {}) {
  const place = join(scene.folder, `${manifest.id}-${manifest.version}`);
  const whole = { description: 'Says what it was told.', provides: ['tool:echo'], startup_timeout: 20, ...manifest };
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, 'manifest.json'), JSON.stringify(whole));
  writeFileSync(join(place, 'SKILL.md'), '---\nname: echo\ndescription: Echoes.\n---\nUse it.\n');
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(place, path, '..'), { recursive: true });
    writeFileSync(join(place, path), text);
  }
  copyFileSync(join(PROGRAMS, 'native_app'), join(place, 'binary'));
  return place;
}

/** Lets the home believe a key of its own, so that it can sign. */
export function trust(scene) {
  scene.roost('keys', 'signing', 'new', '--name', 'ada');
}

/** The same app, signed by that key, as the file that travels. A later version takes its place. */
export function offer(scene, manifest) {
  const packed = `${folder(scene, manifest)}.napp`;
  scene.roost('pack', packed.replace(/\.napp$/, ''), '-o', packed);
  scene.roost('sign', packed);
  const place = join(scene.folder, `${manifest.id}.napp`);
  copyFileSync(packed, place);
  return place;
}

/** What the app answers a program of this machine that asks for a path of its own. */
export async function answers(scene, id, path) {
  const answer = await fetch(`${scene.address}/api/v1/apps/${id}/api/${path}`);
  return { status: answer.status, text: await answer.text() };
}
