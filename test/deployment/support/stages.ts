import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/root.js';
import { readText } from './documents.js';

/** Each app that is a process of Gapless by itself, and the port that it takes unless told. */
export function stagePorts(): ReadonlyMap<string, number> {
  const ports = new Map<string, number>();
  for (const app of readdirSync(join(ROOT, 'apps'))) {
    const main = `apps/${app}/src/main.ts`;
    if (!existsSync(join(ROOT, main))) continue;
    const port = /runGaplessApp\(\{[^}]*defaultPort: (\d+)/.exec(readText(main))?.[1];
    if (port !== undefined) ports.set(app, Number(port));
  }
  return ports;
}
