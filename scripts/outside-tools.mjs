import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OUTSIDE_VERSIONS } from './outside-clients.mjs';

/**
 * The tools that other people made and that judge Gapless: what each looks at, and the run in which it does so.
 * @param {string} root
 */
export function outsideTools(root) {
  const packageAt = (path) => JSON.parse(readFileSync(join(root, path, 'package.json'), 'utf8'));
  const all = (path) => ({ ...packageAt(path).dependencies, ...packageAt(path).devDependencies });
  const ours = all('.');
  const project = (name) => all(join('test/packages/projects', name));
  const {
    tools,
    'next-16': next,
    'nest-10': nest10,
    'nest-12': nest12,
    deno,
  } = Object.fromEntries(['tools', 'next-16', 'nest-10', 'nest-12', 'deno'].map((name) => [name, project(name)]));
  const npm = (name, versions = ours) => [name, versions[name]];
  const outside = (name) => [name, OUTSIDE_VERSIONS[name]];
  return [
    [...npm('@seriousme/openapi-schema-validator'), '`docs/openapi.json`', 'openapi'],
    [...npm('openapi-typescript'), 'types made of `docs/openapi.json`', 'client'],
    [...npm('@asyncapi/parser'), '`docs/asyncapi.json`', 'asyncapi'],
    ['promtool', 'Debian', 'alert rules and their tests, `/metrics`', 'alerts'],
    [...outside('kubectl, helm'), '`kubectl kustomize`, `helm lint`, `helm template`', 'e2e deployment'],
    [...outside('kubeconform'), 'what both of them write', 'e2e deployment'],
    [...outside('hadolint'), 'the Dockerfiles', 'e2e deployment'],
    [...outside('confluent-kafka'), 'records in the inbox, by librdkafka', 'e2e librdkafka'],
    [...npm('standardwebhooks'), 'signatures of pushes, in JavaScript', 'e2e push-and-pull'],
    [...outside('standardwebhooks (PyPI)'), 'signatures of pushes, in Python and Go', 'e2e recipes'],
    [...npm('@modelcontextprotocol/client'), '`POST /mcp`: poll and stream', 'clients mcp'],
    [...npm('@ai-sdk/mcp'), '`POST /mcp`: subscribe, tools', 'clients mcp'],
    [...outside('@tanstack/ai-mcp'), '`POST /mcp`: tools', 'clients mcp'],
    [...outside('@modelcontextprotocol/conformance'), '`POST /mcp`: what servers must do', 'clients mcp'],
    [...npm('axe-core'), 'every page in light, dark and on a phone', 'browser'],
    [...npm('publint', tools), 'the npm packages', 'packages'],
    [...npm('@arethetypeswrong/cli', tools), 'the types of the npm packages', 'packages'],
    [...npm('next', next), 'a project with `@gapless/consumer`', 'packages'],
    [...npm('deno', deno), 'a project with `@gapless/consumer`', 'packages'],
    [
      '@nestjs/core',
      `${nest10['@nestjs/core']}, ${nest12['@nestjs/core']}`,
      'projects with `@gapless/consumer`',
      'packages',
    ],
  ].map(([tool, version, looksAt, run]) => ({ tool, version, looksAt, run }));
}

/**
 * Returns the lines of a table in Markdown, aligned as Prettier does it.
 * @param {readonly (readonly string[])[]} rows the first one has the titles
 */
export function markdownTable(rows) {
  const widths = rows[0].map((_, column) => Math.max(...rows.map((row) => row[column].length)));
  const line = (cells) => `| ${cells.map((cell, column) => cell.padEnd(widths[column])).join(' | ')} |`;
  const [titles, ...others] = rows;
  return [line(titles), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others.map(line)].join('\n');
}

/** Returns the table of `docs/testing.md`. @param {string} root */
export function toolsTable(root) {
  return markdownTable([
    ['tool', 'version', 'looks at', 'run', 'result'],
    ...outsideTools(root).map(({ tool, version, looksAt, run }) => [
      tool,
      version,
      looksAt,
      `\`${run}\``,
      'no finding',
    ]),
  ]);
}
