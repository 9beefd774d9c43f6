import { STAGE_NAMES, STAGES, type StageName } from '#libs/runtime';

/** Each stage, and the port that it takes unless told. */
export function stagePorts(): ReadonlyMap<StageName, number> {
  return new Map(STAGE_NAMES.map((name) => [name, STAGES[name].port]));
}
