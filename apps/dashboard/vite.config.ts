import { basename, join, parse } from 'node:path';
import { defineConfig, type Plugin } from 'vite';
import { writeFontSubset } from './font-subset.js';

/** The address of the api that `npm run dev:dashboard` uses. */
const API = 'http://127.0.0.1:3000';

/** The part of Inter that the pages need nearly always. */
const FONT = await writeFontSubset(join(import.meta.dirname, '../../.cache/dashboard'));

/** Lets browsers load the font beside the scripts, so that it is there before the first text, and no line moves. */
const preloadFont: Plugin = {
  name: 'preload-font',
  transformIndexHtml: {
    order: 'post',
    handler: (_html, { bundle = {} }) =>
      Object.keys(bundle)
        .filter((file) => basename(file).startsWith(parse(FONT).name))
        .map((file) => ({
          tag: 'link',
          attrs: { rel: 'preload', href: `/${file}`, as: 'font', type: 'font/woff2', crossorigin: true },
        })),
  },
};

export default defineConfig({
  root: import.meta.dirname,
  plugins: [preloadFont],
  resolve: { alias: { '@font-subset': FONT } },
  build: {
    outDir: '../../dist/dashboard',
    emptyOutDir: true,
    target: ['chrome111', 'firefox128', 'safari17.5'],
    // The Content-Security-Policy of the pages allows no `data:` scripts, styles or fonts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: ['index.html', 'portal.html'].map((page) => join(import.meta.dirname, page)),
      output: {
        // Both entries share them. One file compresses better than the pieces that they would be split into.
        codeSplitting: {
          groups: [
            { name: 'framework', test: /node_modules\/(react|react-dom|scheduler|@tanstack|openapi-fetch)\// },
            {
              name: 'basics',
              test: /src\/(api|time|session)\/|src\/ui\/(button|card|icon|notice|page-header|segments|skeleton|sparkline|status-badge|tile|time|toast-queue)\.|src\/\w+\/[\w-]*(search|health-of|languages|scope-meanings|theme-switch|brand)\.ts/,
            },
          ],
        },
      },
      onLog(level, log, print) {
        // These directives are for servers that render React. There is none here.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') print(level, log);
      },
    },
  },
  server: { proxy: { '/api': API, '/docs': API, '/openapi.json': API } },
});
