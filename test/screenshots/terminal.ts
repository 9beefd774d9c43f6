import { execFile, spawn } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Browser } from 'playwright-core';
import type { GaplessProcess } from '../bench/system/gapless-process.js';
import { eventually } from '../support/infrastructure/eventually.js';
import { ROOT } from '../support/root.js';

interface Shown {
  readonly command: string;
  readonly output: string;
}

const run = promisify(execFile);
const RECEIVER = 'npm run -s receiver';
const COMMANDS = [
  `curl -s $URL/api/v1/internal/events -H "X-Api-Key: $KEY" -H 'Content-Type: application/json' \\
  -d '{"events": [{"event": "ticket.created", "data": {"id": "tkt_1", "subject": "Where is my parcel?"}}]}'`,
  `curl -s "$URL/api/v1/external/events?since=0&wait=10" -H "X-Api-Key: $KEY"`,
  'npm run -s gapless -- verify',
];
const WIDTH = 1_280;
const STYLE = `
  body { margin: 0; padding: 24px; background: #0f1419; color: #d5dbe1; font: 14px/1.55 'DejaVu Sans Mono', monospace; }
  pre { margin: 0 0 16px; white-space: pre-wrap; word-break: break-word; font: inherit; }
  b { color: #7fd1ae; font-weight: 600; }
  h2 { margin: 0 0 8px; color: #7d8894; font-size: 12px; font-weight: 400; }
  section + section { margin-top: 24px; border-top: 1px solid #2a323a; padding-top: 16px; }`;

/** Runs the commands of the README's first screen on a fresh Gapless, and draws what they print. */
export async function shootTerminal(browser: Browser, gapless: GaplessProcess, path: string): Promise<void> {
  const { base_url: URL, api_key: KEY } = gapless.credentials;
  const env = { ...process.env, DATA_DIR: gapless.dataDir, URL, KEY };
  const receiver = spawn(process.execPath, [join(ROOT, 'dist/apps/reference-consumer/src/main.js')], { env });
  let received = '';
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => (received += text));
  const sees = (what: string) =>
    eventually(() => {
      if (!received.includes(what)) throw new Error(`The receiver has not printed ${what}:\n${received}`);
    });
  try {
    await sees('Registered');
    const shown: Shown[] = [];
    for (const command of COMMANDS) {
      const { stdout } = await run('bash', ['-c', command], { env, cwd: ROOT });
      shown.push({ command, output: stdout });
      // As fast as a person types, who sees the event arrive first.
      await sees('tkt_1');
    }
    await draw(browser, [{ command: RECEIVER, output: received }], shown, path);
  } finally {
    receiver.kill('SIGINT');
    await new Promise((resolve) => receiver.once('exit', resolve));
  }
}

async function draw(browser: Browser, first: readonly Shown[], second: readonly Shown[], path: string): Promise<void> {
  const page = await browser.newPage({ viewport: { width: WIDTH, height: 400 } });
  await page.setContent(`<style>${STYLE}</style>${terminal('Terminal 2', first)}${terminal('Terminal 3', second)}`);
  await page.screenshot({ path, fullPage: true });
  await page.close();
}

function terminal(title: string, shown: readonly Shown[]): string {
  const parts = shown.map(
    ({ command, output }) => `<pre><b>$ ${escaped(command)}</b>\n${escaped(output.trim())}</pre>`,
  );
  return `<section><h2>${title}</h2>${parts.join('')}</section>`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
