import { STAGE_NAMES, STAGES, type StageName } from '#libs/runtime';

/** Returns each stage with its default port. */
export function stagePorts(): ReadonlyMap<StageName, number> {
  return new Map(STAGE_NAMES.map((name) => [name, STAGES[name].port]));
}
