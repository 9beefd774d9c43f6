import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { ROOT } from '../support/root.js';

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');

it('passes on every operation of the OpenAPI document, once a load balancer follows operate.md', () => {
  const { paths } = JSON.parse(read('docs/openapi.json')) as { readonly paths: Readonly<Record<string, unknown>> };
  const [, section = ''] = /### Public paths\n([\s\S]*?)\n#/.exec(read('docs/operate.md')) ?? [];
  const listed = [...section.matchAll(/`(\/[^`]+)`/g)].map(([, path = '']) => path);
  expect(listed).toEqual(expect.arrayContaining(['/mcp', '/portal', '/assets/']));
  expect(Object.keys(paths).filter((path) => !listed.some((prefix) => path.startsWith(prefix)))).toEqual([]);
});
