import { METRICS, type MetricDefinition } from '#libs/metrics';
import { SETTINGS, type Setting } from '#libs/runtime';
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

/** The documents that hold tables made of the sources, and how each is brought up to date. */
export const REFERENCE_TABLES: Readonly<Record<string, (text: string) => string>> = {
  'README.md': (text) => replaceMarked(text, 'settings', settingsTable()),
  'docs/operations.md': (text) => replaceMarked(text, 'metrics', metricsTable()),
};
