/**
 * Returns the shortest window that shows all activity, so that a young organization does not see one bar at the edge.
 * @param totals the activity of each bucket, oldest first
 * @param bucket the length of a bucket, in the unit of the windows
 * @param windows ascending; the longest one is returned when nothing happened
 */
export function fittingWindow<W extends number>(
  totals: readonly number[],
  bucket: number,
  windows: readonly [W, ...(readonly W[])],
): W {
  const longest = windows.at(-1) ?? windows[0];
  const first = totals.findIndex((total) => total > 0);
  if (first === -1) return longest;
  const span = (totals.length - first) * bucket;
  return windows.find((window) => window >= span) ?? longest;
}
