import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stagesIn, type CpuProfile, type Stretch } from './cpu-profile.js';
import { flameGraphSvg } from './flame-graph-svg.js';
import { ownerShares, type OwnerShare } from './owner-shares.js';
import { stackTree } from './stack-tree.js';

/** A stretch of a scenario that is worth a picture. */
export interface NamedStretch extends Stretch {
  readonly name: string;
}

/** `CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile`: a thread of a process. */
const PROFILE_FILE = /^CPU\..*\.cpuprofile$/;

/** A picture, and who used the time that it shows. */
export interface FlameGraph {
  readonly path: string;
  readonly shares: readonly OwnerShare[];
}

/**
 * Draws each thread in each stretch.
 * @param profileDir what Node has written its CPU profiles to
 */
export function writeFlameGraphs(
  profileDir: string,
  stretches: readonly NamedStretch[],
  directory: string,
): readonly FlameGraph[] {
  mkdirSync(directory, { recursive: true });
  const files = readdirSync(profileDir).filter((file) => PROFILE_FILE.test(file));
  return files.flatMap((file) => {
    const profile = JSON.parse(readFileSync(join(profileDir, file), 'utf8')) as CpuProfile;
    const stages = stagesIn(profile);
    return stretches.map(({ name, ...stretch }) => {
      const root = stackTree(profile, stretch);
      const seconds = (stretch.toMs - stretch.fromMs) / 1_000;
      const title = `${name}: ${stages.join(', ')}; ${(root.totalMs / 1_000).toFixed(1)} s of CPU in ${seconds.toFixed(1)} s`;
      const path = join(directory, `${[name, ...stages].join('-').replaceAll(/[^\w-]+/g, '-')}.svg`);
      writeFileSync(path, flameGraphSvg(root, title));
      return { path, shares: ownerShares(root) };
    });
  });
}
