import type { Histogram } from './histogram.js';

/** One number that a scenario found; `null` where it cannot be measured on this system. */
export interface Figure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
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

/** The figures as those of a part of a scenario. */
export function figuresOf(part: string, figures: readonly Figure[]): readonly Figure[] {
  return figures.map((one) => ({ ...one, name: `${part}: ${one.name}` }));
}
