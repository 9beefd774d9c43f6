import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CATALOG, type JsonObject } from '#libs/domain';
import { EVENT_SCHEMA_FILES, exampleEnvelope } from './event-schema-files.js';
import { breakingLines, driftedFiles, writeSchemas } from './schema-directory.js';

const COMMITTED = fileURLToPath(new URL('../../../../schemas', import.meta.url));
const EMITTED = CATALOG.filter(({ deprecated }) => !deprecated);

describe('schemas/', () => {
  it('is what the sources describe', async () => {
    expect(await driftedFiles(COMMITTED, EVENT_SCHEMA_FILES)).toEqual([]);
  });

  it('holds the envelope and every type that is emitted', () => {
    const wanted = [...EMITTED.map(({ event }) => `${event}.json`), 'envelope.json'];
    expect(readdirSync(COMMITTED).toSorted()).toEqual(wanted.toSorted());
  });

  describe('read by a validator', () => {
    // Unknown formats are passed over by choice: what they mean is not what this is about.
    const ajv = new Ajv2020({ strict: true, strictTypes: false, allowUnionTypes: true, validateFormats: false });
    for (const name of readdirSync(COMMITTED)) {
      ajv.addSchema(JSON.parse(readFileSync(join(COMMITTED, name), 'utf8')) as JsonObject, name);
    }
    const allows = (file: string, envelope: unknown) => ajv.validate(file, envelope);

    it.each(EMITTED.map((entry) => [entry.event, entry] as const))(
      '%s allows its example and no other type',
      (event, entry) => {
        const envelope = exampleEnvelope(entry);
        expect([allows(`${event}.json`, envelope), ajv.errors]).toEqual([true, null]);
        expect(allows('envelope.json', envelope)).toBe(true);
        expect(allows(`${event}.json`, { ...envelope, event: 'ticket.nothing' })).toBe(false);
        expect(allows(`${event}.json`, { ...envelope, data: [] })).toBe(false);
        expect(allows(`${event}.json`, { ...envelope, id: undefined })).toBe(false);
      },
    );

    it('allows a widget only where the type may have one (contract 7.3)', () => {
      for (const entry of EMITTED) {
        const envelope = { ...exampleEnvelope(entry), widget_id: '7c9e6679-7425-40de-944b-e07fc1f90ae7' };
        expect([entry.event, allows(`${entry.event}.json`, envelope)]).toEqual([entry.event, entry.scope === 'widget']);
      }
    });
  });
});

describe('a directory of schemas', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'gapless-schemas-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true });
  });
  const old = [
    { name: 'a.json', schema: { type: 'object', required: ['id'] } },
    { name: 'b.json', schema: { type: 'object' } },
  ];

  it('holds what was written, and nothing that was there before', async () => {
    writeFileSync(join(directory, 'stale.json'), '{}');
    await writeSchemas(directory, old);
    expect(readdirSync(directory)).toEqual(['a.json', 'b.json']);
    expect(JSON.parse(readFileSync(join(directory, 'a.json'), 'utf8'))).toEqual(old[0]!.schema);
    expect(await driftedFiles(directory, old)).toEqual([]);
  });

  it('has drifted where a file is other, missing or too many', async () => {
    await writeSchemas(directory, old);
    writeFileSync(join(directory, 'a.json'), '{}');
    writeFileSync(join(directory, 'c.json'), '{}');
    rmSync(join(directory, 'b.json'));
    expect(await driftedFiles(directory, old)).toEqual(['a.json', 'b.json', 'c.json']);
    expect(await driftedFiles(join(directory, 'nowhere'), old)).toEqual(['a.json', 'b.json']);
  });

  it('reports what would break consumers: a change, and a type that is gone', async () => {
    await writeSchemas(directory, old);
    const lines = await breakingLines(directory, [{ name: 'a.json', schema: { type: 'object' } }]);
    expect(lines).toEqual([
      'a.json#/properties/id: breaks deployed consumers: was always there, and may be absent now',
      'b.json: breaks deployed consumers: is not described any more',
    ]);
    expect(await breakingLines(directory, [...old, { name: 'new.json', schema: {} }])).toEqual([]);
  });
});
