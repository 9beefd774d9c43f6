import { cpus } from 'node:os';
import type { Histogram } from './histogram.js';

/** One number that a scenario found; `null` where it cannot be measured on this system. */
export interface Figure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
}

export interface Report {
  readonly scenario: string;
  readonly figures: readonly Figure[];
}

export function figure(name: string, value: number | null | undefined, unit: string): Figure {
  return { name, value: value ?? null, unit };
}

/** The two quantiles by which latencies are compared. */
export function latencyFigures(name: string, histogram: Histogram): readonly Figure[] {
  return [
    figure(`${name}, p50`, histogram.quantile(0.5), 'ms'),
    figure(`${name}, p99`, histogram.quantile(0.99), 'ms'),
  ];
}

/** Three digits that matter, all those before the point. */
export function numberText(value: number | null): string {
  if (value === null || Number.isNaN(value)) return 'n/a';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function reportTable({ scenario, figures }: Report): string {
  const rows = figures.map(({ name, value, unit }) => [name, numberText(value), unit] as const);
  const width = (column: 0 | 1) => Math.max(...rows.map((row) => row[column].length));
  const lines = rows.map(([name, value, unit]) =>
    `  ${name.padEnd(width(0))}  ${value.padStart(width(1))} ${unit}`.trimEnd(),
  );
  return [scenario, ...lines, ''].join('\n');
}

export function reportJson(report: Report): string {
  const processors = cpus();
  const machine = { cpu: processors[0]?.model ?? 'unknown', cpus: processors.length, node: process.version };
  return JSON.stringify({ ...report, machine }, null, 2);
}
