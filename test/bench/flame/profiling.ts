import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { writeFlameGraphs, type FlameGraph, type NamedStretch } from './write-flame-graphs.js';

/** Where CPU profiles of a Gapless go, and where pictures of them do. */
export class Profiling {
  /** The directory that Gapless writes its profiles to. If nobody asked for profiles, it is one of this run alone. */
  #directory: string | undefined;

  constructor(
    private readonly wanted: { readonly profileDir?: string | undefined; readonly flameDir?: string | undefined },
  ) {}

  /** `undefined` if nothing is to be profiled. */
  get directory(): string | undefined {
    if (this.wanted.profileDir !== undefined) return resolve(this.wanted.profileDir);
    if (this.wanted.flameDir === undefined) return undefined;
    return (this.#directory ??= mkdtempSync(join(tmpdir(), 'gapless-bench-profiles-')));
  }

  /** To be called when the Gapless of a run has stopped, which is when profiles are written. @returns the pictures */
  draw(scenario: string, stretches: readonly NamedStretch[]): readonly FlameGraph[] {
    const { flameDir } = this.wanted;
    const { directory } = this;
    if (flameDir === undefined || directory === undefined) return [];
    const named = stretches.map((stretch) => ({ ...stretch, name: `${scenario} ${stretch.name}` }));
    const pictures = writeFlameGraphs(directory, named, flameDir);
    this.end();
    return pictures;
  }

  /** Removes what nobody asked for. */
  end(): void {
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
    this.#directory = undefined;
  }
}
