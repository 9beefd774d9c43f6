import { describe, expect, it } from '@jest/globals';
import { STAGE_NAMES, STAGES, UPGRADE_ORDER, type StageDefinition } from './stages.js';

const definitions = STAGE_NAMES.map((name): { readonly name: string } & StageDefinition => ({ name, ...STAGES[name] }));

describe('the list of stages', () => {
  it('gives each a port of its own, in its order', () => {
    const ports = definitions.map(({ port }) => port);
    expect(ports).toEqual([...new Set(ports)].sort((one, other) => one - other));
  });

  it('has each consumer group once', () => {
    const groups = definitions.flatMap(({ consumers }) => Object.keys(consumers));
    expect(new Set(groups).size).toBe(groups.length);
  });

  it('has a writer for every topic that is read', () => {
    const read = definitions.flatMap(({ consumers }) => Object.values(consumers).flat());
    const written = new Set(definitions.flatMap(({ writes }) => writes));
    expect(read.filter((topic) => !written.has(topic))).toEqual([]);
  });
});

describe('the order of an upgrade', () => {
  it('has every stage once', () => {
    expect([...UPGRADE_ORDER].sort()).toEqual([...STAGE_NAMES].sort());
  });

  it('replaces what reads a topic before what writes it, but for the public log', () => {
    const place = (name: string) => UPGRADE_ORDER.findIndex((one) => one === name);
    const wrong = definitions.flatMap((writer) =>
      definitions
        .filter((reader) => reader.name !== writer.name && place(reader.name) > place(writer.name))
        .flatMap((reader) =>
          Object.values(reader.consumers)
            .flat()
            .filter((topic) => writer.writes.includes(topic))
            .map((topic) => `${reader.name} reads ${topic} of ${writer.name}`),
        ),
    );
    expect(wrong).toEqual(['alerting reads log of sequencer']);
  });
});
