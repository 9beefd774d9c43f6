import { cpSync, mkdirSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import type { Browser, Page } from 'playwright-core';
import { systemClock } from '#libs/domain';
import { GaplessProcess } from '../bench/system/gapless-process.js';
import { aBrowser } from '../browser/support/a-browser.js';
import { simulateOrg, type SimulatedOrg } from './simulated-org.js';
import { shootTerminal } from './terminal.js';

const ROOT = resolve(import.meta.dirname, '../../..');
const OUTPUT = join(ROOT, '.screenshots');
const IMAGES = join(ROOT, 'docs/images');
const VIEWS = (['light', 'dark'] as const).flatMap((theme) => [
  { theme, width: 1_280, height: 800 },
  { theme, width: 390, height: 844 },
]);
/** The pictures that the README and the docs show. */
const SHOWN = [
  'terminal',
  'overview-light-1280',
  'endpoint-disabled-dark-1280',
  'delivery-light-1280',
  'events-open-dark-1280',
];
/** Retries that end soon, so that deliveries fail while somebody looks. */
const ENVIRONMENT = { RETRY_SCHEDULE: '300ms,1s,30m', LOG_LEVEL: 'error' };

function pagesOf(org: SimulatedOrg): Readonly<Record<string, string>> {
  const { endpointId, id } = org.delivery;
  return {
    overview: '/',
    endpoints: '/endpoints',
    'endpoint-new': '/endpoints/new',
    endpoint: `/endpoints/${org.healthyId}`,
    'endpoint-edit': `/endpoints/${org.healthyId}/edit`,
    'endpoint-disabled': `/endpoints/${org.disabledId}`,
    delivery: `/endpoints/${endpointId}/deliveries/${id}`,
    events: '/events',
    'events-open': `/events?seq=${org.seq}`,
    alerts: '/alerts',
    keys: '/keys',
    cursors: '/cursors',
    'audit-log': '/audit-log',
    samples: '/samples',
  };
}

async function signIn(page: Page, baseUrl: string, apiKey: string): Promise<void> {
  await page.goto(`${baseUrl}/sign-in`);
  await page.getByLabel('API key').fill(apiKey);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { name: 'Overview' }).waitFor();
}

async function shoot(browser: Browser, gapless: GaplessProcess, org: SimulatedOrg): Promise<void> {
  const { base_url: baseUrl, api_key: apiKey } = gapless.credentials;
  for (const { theme, width, height } of VIEWS) {
    const context = await browser.newContext({
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: 'reduce',
    });
    const page = await context.newPage();
    const save = async (name: string) => {
      await page.locator('h1').first().waitFor();
      await page.locator('.skeleton').first().waitFor({ state: 'detached' });
      await page.screenshot({ path: join(OUTPUT, `${name}-${theme}-${width}.png`), animations: 'disabled' });
    };
    await page.goto(`${baseUrl}/sign-in`);
    await save('sign-in');
    await signIn(page, baseUrl, apiKey);
    for (const [name, path] of Object.entries(pagesOf(org))) {
      await page.goto(baseUrl + path);
      await save(name);
    }
    await context.close();
  }
}

async function takeAll(toDocs: boolean): Promise<void> {
  rmSync(OUTPUT, { recursive: true, force: true });
  mkdirSync(OUTPUT, { recursive: true });
  const gapless = await GaplessProcess.start({ environment: ENVIRONMENT }, new AbortController().signal);
  const browser = await aBrowser();
  try {
    await shootTerminal(browser, gapless, join(OUTPUT, 'terminal.png'));
    const org = await simulateOrg(gapless.credentials, systemClock.now());
    await shoot(browser, gapless, org);
    org.close();
  } finally {
    await browser.close();
    await gapless.stop();
  }
  if (toDocs)
    for (const name of SHOWN)
      cpSync(join(OUTPUT, `${name}.png`), join(IMAGES, `${name.replace(/-(light|dark)-\d+$/, '')}.png`));
  process.stderr.write(`Written to ${OUTPUT}\n`);
}

await new Command('screenshots')
  .description(
    'Takes pictures of every page of the dashboard, in both themes and two widths, and of a terminal, to .screenshots/',
  )
  .option('--docs', 'also replaces the pictures of the README and the docs, in docs/images/')
  .action(({ docs }: { docs?: true }) => takeAll(docs === true))
  .parseAsync();
