import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CATALOG, ERROR_CODES } from '#libs/domain';
import { givenSecret } from '../webhooks/webhook-members.js';
import { OPENAPI_DOCUMENT, OPENAPI_JSON } from './openapi-document.js';

const document = OPENAPI_DOCUMENT as {
  readonly webhooks: Readonly<Record<string, { readonly post: { readonly parameters: readonly Reference[] } }>>;
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly operationId: string;
            readonly responses: Readonly<Record<string, { readonly headers?: object }>>;
          }
        >
      >
    >
  >;
  readonly components: {
    readonly schemas: {
      readonly Problem: { readonly properties: { readonly code: object } };
    } & Readonly<
      Record<'WebhookWithSecret' | 'WebhookWithNewSecret', { readonly properties: { readonly secret: object } }>
    >;
    readonly parameters: Readonly<Record<string, { readonly name: string; readonly required: boolean }>>;
  };
};

interface Reference {
  readonly $ref: string;
}

/** Returns the headers that each push of that name has. */
function headersOf(push: string): readonly string[] {
  return (document.webhooks[push]?.post.parameters ?? [])
    .map(({ $ref }) => document.components.parameters[$ref.split('/').at(-1) ?? '']!)
    .flatMap(({ name, required }) => (required ? [name] : []));
}

describe('the OpenAPI document', () => {
  it('is valid OpenAPI 3.1', async () => {
    const result = await new Validator().validate(JSON.parse(OPENAPI_JSON) as Record<string, unknown>);
    expect(result).toEqual({ valid: true });
  });

  it('refers to nothing that is not there', () => {
    const references = [...OPENAPI_JSON.matchAll(/"\$ref": "#\/([^"]+)"/g)].map(([, path]) => path!);
    for (const reference of references) {
      const found = reference.split('/').reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
      expect([reference, found]).not.toEqual([reference, undefined]);
    }
  });

  it('describes the push of every event type that is emitted', () => {
    const emitted = CATALOG.filter(({ deprecated }) => !deprecated).map(({ event }) => event);
    expect(Object.keys(document.webhooks)).toEqual([...emitted, 'batch']);
  });

  it('requires the headers that every push has, of events and of batches', () => {
    const ofEvents = headersOf('ticket.created');
    expect(ofEvents).toContain('X-Service-Event-Id');
    // An endpoint may do without it.
    expect(ofEvents).not.toContain('X-Webhook-Signature');
    expect(headersOf('batch')).toEqual(ofEvents.filter((name) => name !== 'X-Service-Event-Id'));
  });

  it.each([24, 32, 64])('allows each secret that a request may give, here one of %i bytes', (bytes) => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    const text = Buffer.alloc(bytes, 0xfb).toString('base64');
    for (const name of ['WebhookWithSecret', 'WebhookWithNewSecret'] as const) {
      const isValid = ajv.compile(document.components.schemas[name].properties.secret);
      for (const secret of [`whsec_${text}`, `whsec_${text.replaceAll('=', '')}`]) {
        expect([name, secret, givenSecret.check(secret), isValid(secret)]).toEqual([name, secret, [], true]);
      }
      expect(isValid('whsec_short')).toBe(false);
    }
  });

  it('names every error code', () => {
    expect(document.components.schemas.Problem.properties.code).toMatchObject({
      enum: expect.arrayContaining([...ERROR_CODES]) as unknown,
    });
  });

  it('names the bounds of the feed, and that any operation can fail', () => {
    const responses = Object.values(document.paths).flatMap((path) => Object.values(path).map((one) => one.responses));
    expect(responses.filter((one) => one['500'] === undefined)).toEqual([]);
    const { headers } = document.paths['/api/v1/external/events']!['get']!.responses['200']!;
    expect(Object.keys(headers ?? {})).toEqual(expect.arrayContaining(['X-Oldest-Sequence', 'X-Head-Sequence']));
  });

  it('names each operation once', () => {
    const ids = Object.values(document.paths).flatMap((path) =>
      Object.values(path).map(({ operationId }) => operationId),
    );
    expect(new Set(ids).size).toBe(ids.length);
  });

  it('is what docs/openapi.json holds', async () => {
    const path = new URL('../../../../docs/openapi.json', import.meta.url);
    expect(await readFile(path, 'utf8')).toBe(OPENAPI_JSON);
  });
});
