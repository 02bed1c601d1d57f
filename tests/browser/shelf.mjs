// A store of a maintainer's on this machine, and apps in it that change: what a catalog is to the stories of the store.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** A store in the scene's folder, as the only catalog of its home. */
export class Shelf {
  constructor(scene) {
    this.scene = scene;
    this.folder = join(scene.folder, 'shelf');
    scene.roost('store', 'init', 'shelf', '--name', 'The shelf');
  }

  /** Makes the store the one that the home looks into. */
  open() {
    this.scene.roost('store', 'remove', 'official');
    this.scene.roost('store', 'add', this.folder, '--name', 'shelf');
  }

  /** A new app, with its agent and its page. */
  make(id, summary, publisher = '@ada', name = id) {
    this.scene.roost('new', 'app', id, '--publisher', publisher, '--summary', summary, '--name', name);
  }

  /** Changes files of an app: `{path: (text) => text}`. */
  change(id, changes) {
    for (const [path, change] of Object.entries(changes)) {
      const file = join(this.scene.folder, id, path);
      writeFileSync(file, change(readFileSync(file, 'utf8')));
    }
  }

  /** The same app under another version. */
  raise(id, from, to) {
    const change = (text) => text.replaceAll(`"${from}"`, `"${to}"`);
    this.change(id, { 'manifest.json': change, 'index_entry.json': change, [`singleton/${id}_agent.py`]: change });
  }

  publish(id) {
    const { submission } = this.scene.roost('store', 'submit', 'shelf', id);
    this.scene.roost('store', 'approve', 'shelf', submission, '--accept-findings');
  }
}
