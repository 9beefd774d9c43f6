/** How much of what was used, by a name that says of whom and what. */
export type Costs = Readonly<Record<string, number>>;

/** What stands above its ceiling, or was never counted though it has one, in words. */
export function exceeding(counted: Costs, ceilings: Costs): readonly string[] {
  return Object.entries(ceilings).flatMap(([name, ceiling]) => {
    const count = counted[name] ?? 0;
    if (count === 0) return [`${name}: nothing was counted, so its ceiling shows nothing`];
    return count > ceiling ? [`${name}: ${text(count)} counted, ${text(ceiling)} allowed`] : [];
  });
}

/** Returns every count, beside its ceiling if it has one, a line each. */
export function costTable(counted: Costs, ceilings: Costs): string {
  const width = Math.max(...Object.keys(counted).map((name) => name.length));
  return Object.entries(counted)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([name, count]) => {
      const ceiling = ceilings[name];
      return `${name.padEnd(width)}  ${text(count).padStart(9)}${ceiling === undefined ? '' : `  of ${text(ceiling)}`}`;
    })
    .join('\n');
}

function text(value: number): string {
  return value.toFixed(value < 100 ? 1 : 0);
}
