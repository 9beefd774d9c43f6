const STEPS = [1, 2, 2.5, 5, 10];

/** Returns the next round number at or above a maximum, for the end of an axis. */
export function roundMaximum(max: number): number {
  if (max <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(max));
  const step = STEPS.find((candidate) => candidate * power >= max) ?? 10;
  return step * power;
}

const LEAST_FOR_TYPICAL = 5;
/** A value this many times the usual ones flattens them. */
const BURST = 6;

/** Returns the end of an axis. A burst does not flatten everything else: it is cut, and its value is shown. */
export function axisMaximum(values: readonly number[]): number {
  const max = Math.max(0, ...values);
  const usual = values.filter((value) => value > 0).toSorted((a, b) => a - b);
  const typical = usual[Math.floor((usual.length - 1) * 0.8)] ?? 0;
  return roundMaximum(usual.length >= LEAST_FOR_TYPICAL && max > BURST * typical ? 2 * typical : max);
}

/** `950`, `1.2k`, `3.4M` */
export function shortNumber(value: number): string {
  return new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

export function wholeNumber(value: number): string {
  return new Intl.NumberFormat().format(value);
}
