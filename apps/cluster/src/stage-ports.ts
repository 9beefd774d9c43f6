import { quietPort } from '#libs/embedded-stack';
import { STAGE_NAMES, STAGES, type StageName } from '#libs/runtime';

/** The distance between the first ports of two sets. */
const SET_STEP = 10;

/**
 * Returns the ports of a set, counted from 1: `base` + 0 … 5 for the first one, `base` + 10 … 15 for the second one.
 */
export function usualPorts(basePort: number, set: number): Readonly<Record<StageName, number>> {
  const above = basePort - STAGES.api.port + (set - 1) * SET_STEP;
  return Object.fromEntries(STAGE_NAMES.map((stage) => [stage, STAGES[stage].port + above])) as Record<
    StageName,
    number
  >;
}

/**
 * Finds a port for each process of a set: the usual one if it is free, otherwise any.
 * @param basePort 0 for any free ports
 * @param taken ports that are reserved already; the found ones are added
 */
export async function findPorts(
  basePort: number,
  set: number,
  taken: Set<number>,
): Promise<Readonly<Record<StageName, number>>> {
  const usual = usualPorts(basePort, set);
  const found: Partial<Record<StageName, number>> = {};
  for (const stage of STAGE_NAMES) {
    const port = await quietPort(basePort === 0 ? undefined : usual[stage], taken);
    taken.add(port);
    found[stage] = port;
  }
  return found as Record<StageName, number>;
}
