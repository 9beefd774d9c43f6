import type { Figure } from './figure.js';

/** A figure over several runs of its scenario. */
export interface Summary {
  readonly name: string;
  readonly unit: string;
  /** How many runs have it. */
  readonly runs: number;
  /** `null` where it cannot be measured on this system. */
  readonly median: number | null;
  readonly least: number | null;
  readonly most: number | null;
}

/** The middle one; of an even number, the mean of the two in the middle. NaN without any. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length / 2;
  const [below, above] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  return below === undefined || above === undefined ? Number.NaN : (below + above) / 2;
}

/** One summary for each name, in the order in which the names come up. */
export function summarise(runs: readonly (readonly Figure[])[]): readonly Summary[] {
  // The same name may stand for two units, such as events and bytes a second.
  const byName = new Map<string, { readonly name: string; readonly unit: string; readonly values: number[] }>();
  const counts = new Map<string, number>();
  for (const { name, unit, value } of runs.flat()) {
    const key = `${name} ${unit}`;
    const known = byName.get(key) ?? { name, unit, values: [] };
    byName.set(key, known);
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (value !== null && !Number.isNaN(value)) known.values.push(value);
  }
  return [...byName].map(([key, { name, unit, values }]) => ({
    name,
    unit,
    runs: counts.get(key) ?? 0,
    median: values.length === 0 ? null : median(values),
    least: values.length === 0 ? null : Math.min(...values),
    most: values.length === 0 ? null : Math.max(...values),
  }));
}
