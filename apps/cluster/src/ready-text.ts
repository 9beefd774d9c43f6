import { shellWord } from '#libs/runtime';
import { ORDERS_HELP } from './order.js';
import { statusTable, type StatusRow } from './status-table.js';

/** The text that is printed once everything runs: what runs where, and what to try next. */
export function readyText(
  status: readonly StatusRow[],
  o: { readonly urls: readonly string[]; readonly dataDir: string },
): string {
  const [url = ''] = o.urls;
  return [
    '',
    statusTable(status),
    '',
    `Gapless is ready at ${o.urls.join(' and ')}`,
    '',
    `  dashboard      ${url}/`,
    `  credentials    ${o.dataDir}/credentials.json`,
    `  logs           ${o.dataDir}/logs`,
    '',
    '  Try in another terminal:',
    `    export DATA_DIR=${shellWord(o.dataDir)}`,
    '    npm run -s receiver',
    '    npm run -s gapless -- emit',
    '    npm run -s gapless -- verify',
    '',
    '  The receiver registers an endpoint and prints what it is pushed. emit emits an event, verify checks the sequence',
    '  of every organization, and the feed against the log. A process above that you kill (kill -9) is started again.',
    '',
    '  Type here:',
    ...ORDERS_HELP.split('\n').map((line) => `    ${line}`),
    '',
  ].join('\n');
}
