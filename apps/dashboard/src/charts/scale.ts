const STEPS = [1, 2, 2.5, 5, 10];

/** Returns the next round number at or above a maximum, for the end of an axis. */
export function roundMaximum(max: number): number {
  if (max <= 4) return 4;
  const power = 10 ** Math.floor(Math.log10(max));
  const step = STEPS.find((candidate) => candidate * power >= max) ?? 10;
  return step * power;
}

/** `950`, `1.2k`, `3.4M` */
export function shortNumber(value: number): string {
  return new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 }).format(value);
}

export function wholeNumber(value: number): string {
  return new Intl.NumberFormat().format(value);
}
