import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { METRICS, type MetricDefinition } from '#libs/telemetry';
import { SETTINGS, STAGE_NAMES, STAGES, UPGRADE_ORDER, type Setting, type StageDefinition } from '#libs/runtime';
import { markdownTable, replaceMarked } from './markdown-table.js';

function shownDefault({ whenUnset }: Setting<unknown>): string {
  switch (whenUnset.kind) {
    case 'required':
      return 'none';
    case 'default':
      return `\`${whenUnset.text}\``;
    case 'absent':
      return 'unset';
  }
}

function settingsTable(): string {
  return markdownTable(
    ['name', 'default', ''],
    Object.values(SETTINGS).map((setting: Setting<unknown>) => [
      `\`${setting.name}\``,
      shownDefault(setting),
      setting.meaning,
    ]),
  );
}

function metricsTable(): string {
  return markdownTable(
    ['metric', 'kind', 'labels', ''],
    Object.entries(METRICS).map(([name, { kind, labels, help }]: [string, MetricDefinition]) => [
      `\`${name}\``,
      kind,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  );
}

function stagesTable(): string {
  return markdownTable(
    ['process', 'default port', 'answers', 'reads', 'writes', 'how many'],
    STAGE_NAMES.map((name) => {
      const { port, answers, consumers, writes, howMany }: StageDefinition = STAGES[name];
      const reads = Object.values(consumers).flat();
      return [name, String(port), answers, codes(reads), codes(writes), howMany];
    }),
  );
}

function decisionsTable(root: string): string {
  const directory = join(root, 'docs/adr');
  const pages = readdirSync(directory).filter((file) => /^\d{4}-.*\.md$/.test(file));
  return markdownTable(
    ['number', 'decision'],
    pages.toSorted().map((file) => {
      const [, number = '', title = ''] = /^# (\d+)\. (.+)$/m.exec(readFileSync(join(directory, file), 'utf8')) ?? [];
      return [number, `[${title}](${file})`];
    }),
  );
}

function codes(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function codeBlock(lines: readonly string[]): string {
  return ['```bash', ...lines, '```'].join('\n');
}

function kustomizeUpgrade(): string {
  return codeBlock([
    `for stage in ${UPGRADE_ORDER.join(' ')}; do`,
    '  kubectl -n gapless set image deployment/$stage $stage=registry.example.com/gapless:$new &&',
    '    kubectl -n gapless rollout status deployment/$stage || break',
    'done',
  ]);
}

/** Returns the commands that replace one stage after the other. Those that come later keep the old version. */
function helmUpgrade(): string {
  return codeBlock(
    UPGRADE_ORDER.map((_, place) => {
      const later = UPGRADE_ORDER.slice(place + 1).map((name) => `stages.${name}.tag=$old`);
      return ['upgrade', ...(later.length === 0 ? [] : ['--set', later.join()])].join(' ');
    }),
  );
}

/** The documents with generated tables, and the function that updates each of them. `root` is that of the repository. */
export const REFERENCE_TABLES: Readonly<Record<string, (text: string, root: string) => string>> = {
  'docs/adr/README.md': (text, root) => replaceMarked(text, 'decisions', decisionsTable(root)),
  'docs/settings.md': (text) => replaceMarked(text, 'settings', settingsTable()),
  'docs/containers.md': (text) =>
    replaceMarked(
      replaceMarked(text, 'upgrade with kustomize', kustomizeUpgrade()),
      'upgrade with Helm',
      helmUpgrade(),
    ),
  'docs/operate.md': (text) =>
    [
      { name: 'stages', content: stagesTable() },
      { name: 'upgrade order', content: UPGRADE_ORDER.map((name, index) => `${index + 1}. ${name}`).join('\n') },
      { name: 'metrics', content: metricsTable() },
    ].reduce((updated, { name, content }) => replaceMarked(updated, name, content), text),
};
