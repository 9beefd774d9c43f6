import type { Summary } from './summary.js';

/** How figures are named that show what else was running, in cores. */
export const ALL_ELSE = 'cores in use: all else on this machine';

/** What a machine does by itself is less. */
const TOLERATED_CORES = 0.15;

/** The cores that something else used at worst while the figures were measured; `undefined` if it was next to nothing. */
export function disturbance(figures: readonly Pick<Summary, 'name' | 'most'>[]): number | undefined {
  const others = figures.flatMap(({ name, most }) => (name.endsWith(ALL_ELSE) ? [most ?? 0] : []));
  const worst = Math.max(0, ...others);
  return worst > TOLERATED_CORES ? worst : undefined;
}

/** Returns a warning for the readers of the figures; empty if there is none to give. */
export function disturbanceText(cores: number | undefined): string {
  return cores === undefined ? '' : `something else used ${cores.toFixed(2)} cores meanwhile: measure again`;
}
