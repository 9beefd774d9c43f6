const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Parses `250ms`, `10s`, `5m`, `6h` or `30d` to milliseconds; returns `undefined` for anything else, also for zero. */
export function parseDuration(text: string): number | undefined {
  const match = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim());
  if (match === null) return undefined;
  const ms = Number(match[1]) * (UNIT_MS[match[2] ?? ''] ?? 0);
  return ms > 0 && Number.isSafeInteger(ms) ? ms : undefined;
}

/** Returns the shortest text that `parseDuration` reads as this duration: `250ms`, `90s`, `6h`. */
export function durationText(ms: number): string {
  const units = Object.entries(UNIT_MS).toReversed();
  const [unit, unitMs] = units.find(([, size]) => ms % size === 0) ?? ['ms', 1];
  return `${ms / unitMs}${unit}`;
}

export const DAY_MS = 86_400_000;
