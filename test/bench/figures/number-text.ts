/** Three digits that matter, all those before the point. */
export function numberText(value: number | null): string {
  if (value === null || Number.isNaN(value)) return 'n/a';
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
