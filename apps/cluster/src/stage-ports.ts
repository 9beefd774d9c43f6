import { quietPort } from '#libs/embedded-stack';
import { STAGES, type Stage } from './stages.js';

/** Between the first ports of two sets. */
const SET_STEP = 10;

/** The ports of a set, from 1: `base` + 0 … 5 of the first one, `base` + 10 … 15 of the second one. */
export function usualPorts(basePort: number, set: number): Readonly<Record<Stage, number>> {
  const first = basePort + (set - 1) * SET_STEP;
  return Object.fromEntries(STAGES.map((stage, place) => [stage, first + place])) as Record<Stage, number>;
}

/**
 * A port for each process of a set: the usual one where that is free, else any.
 * @param basePort 0 for any free ports
 * @param taken what is spoken for; takes what is found
 */
export async function findPorts(
  basePort: number,
  set: number,
  taken: Set<number>,
): Promise<Readonly<Record<Stage, number>>> {
  const usual = usualPorts(basePort, set);
  const found: Partial<Record<Stage, number>> = {};
  for (const stage of STAGES) {
    const port = await quietPort(basePort === 0 ? undefined : usual[stage], taken);
    taken.add(port);
    found[stage] = port;
  }
  return found as Record<Stage, number>;
}
