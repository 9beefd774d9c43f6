import { describe, expect, it } from '@jest/globals';
import { STAGE_NODE_OPTIONS } from '#libs/local-installation';
import { readText } from './support/documents.js';
import { SECRETS } from './support/environment-problems.js';
import { stagePorts } from './support/stages.js';

describe('the image', () => {
  const stages = stagePorts();
  const launcher = readText('docker/image/gapless');

  it('runs every stage by its name', () => {
    const names = /^ {2}(.*) \| cli\)$/m.exec(launcher)?.[1]?.split(' | ');
    expect(new Set(names)).toEqual(new Set(stages.keys()));
  });

  it('gives Node the same options as all that starts stages', () => {
    expect(/^exec node (--.*?) "/m.exec(launcher)?.[1]?.split(' ')).toEqual(STAGE_NODE_OPTIONS);
    const { scripts } = JSON.parse(readText('package.json')) as { readonly scripts: Readonly<Record<string, string>> };
    for (const [name, script] of Object.entries(scripts).filter(([name]) => /^start(:|$)/.test(name))) {
      expect([name, /^exec node (--.*?) scripts/.exec(script)?.[1]?.split(' ')]).toEqual([name, STAGE_NODE_OPTIONS]);
    }
  });

  it('takes every secret from a file', () => {
    const names = /^for name in (.*); do$/m.exec(launcher)?.[1]?.split(' ');
    expect(new Set(names)).toEqual(new Set(SECRETS));
  });

  it("looks for every stage's health at its port, and exposes it", () => {
    const ports = [...stages.values()].sort();
    expect(/PORT:-([\d ]+)\}/.exec(readText('docker/image/gapless-health'))?.[1]).toBe(ports.join(' '));
    expect(/^EXPOSE (.*)$/m.exec(readText('docker/Dockerfile'))?.[1]).toBe(ports.join(' '));
  });
});
