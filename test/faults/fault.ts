import type { Verdict } from './verdict.js';
import type { World, WorldPlan } from './world.js';

/** Something that goes wrong. */
export interface Fault {
  readonly name: string;
  /** One line for the help. */
  readonly description: string;
  /** It is given up after this long, from the start of its servers to the proof. */
  readonly limitMs: number;
  readonly plan?: WorldPlan;
  /** Why it cannot be brought about on this machine; `undefined` if it can. */
  readonly obstacle?: () => string | undefined;
  /** Brings it about, under load. When this returns, the world has to be able to recover by itself. */
  strike(world: World): Promise<void>;
  /** Returns why the fault, by what is seen after it, has shown nothing; `undefined` if it has struck. */
  readonly missed?: (verdict: Verdict) => string | undefined;
}
