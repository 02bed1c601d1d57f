// How the page is built: hashed names, compressed copies beside the files, and a limit on what the first load may weigh.
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

/** Compressed script and style that a browser fetches before the page can be used, in bytes. */
const FIRST_LOAD_BYTES_MAX = 150_000;

/** The view that the page begins with. */
const FIRST_VIEW = 'views/Chat.svelte';

/** Where a running host is while the page is worked on with `npm run dev`. */
const HOST = 'http://127.0.0.1:7071';

/** Files that gain nothing from compression would only make the program larger. */
const COMPRESSED = /\.(html|js|css|svg|webmanifest)$/;

export default defineConfig({
  base: '/ui/',
  plugins: [svelte(), delivered()],
  build: {
    target: 'es2022',
    // Every browser that can run the page preloads modules by itself.
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  server: { proxy: { '^/(?!ui/|$|@|src/|node_modules/)': { target: HOST, changeOrigin: true } } },
});

/** Writes the compressed copies and fails when the first load is too large. */
function delivered(): Plugin {
  let folder = 'dist';
  const first = new Set<string>();
  return {
    name: 'roost-delivered',
    apply: 'build',
    configResolved(config) {
      folder = config.build.outDir;
    },
    generateBundle(_, bundle) {
      // The folder stays in the repository, so that cargo can watch it; what is in it does not.
      this.emitFile({ type: 'asset', fileName: '.gitignore', source: '*\n!.gitignore\n' });
      const count = (name: string) => {
        const chunk = bundle[name];
        if (chunk?.type !== 'chunk' || first.has(name)) return;
        first.add(name);
        chunk.viteMetadata?.importedCss.forEach((style) => first.add(style));
        chunk.imports.forEach(count);
      };
      for (const chunk of Object.values(bundle)) {
        const isFirst = chunk.type === 'chunk' && (chunk.isEntry || chunk.facadeModuleId?.endsWith(FIRST_VIEW));
        if (isFirst) count(chunk.fileName);
      }
    },
    closeBundle() {
      if (first.size === 0) return;
      let bytes = 0;
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!COMPRESSED.test(name)) continue;
        const compressed = gzipSync(readFileSync(join(folder, name)), { level: 9 });
        writeFileSync(join(folder, `${name}.gz`), compressed);
        if (first.has(name)) bytes += compressed.length;
      }
      const said = `first load: ${(bytes / 1000).toFixed(1)} kB compressed script and style`;
      if (bytes > FIRST_LOAD_BYTES_MAX) throw new Error(`${said}; the limit is ${FIRST_LOAD_BYTES_MAX / 1000} kB`);
      console.log(said);
    },
  };
}
