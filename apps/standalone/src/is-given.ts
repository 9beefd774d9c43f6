import type { Environment } from '#libs/runtime';

/** Whether a variable has a value. A blank one counts as unset, as for every setting. */
export function isGiven(environment: Environment, name: string): boolean {
  return (environment[name] ?? '').trim() !== '';
}
