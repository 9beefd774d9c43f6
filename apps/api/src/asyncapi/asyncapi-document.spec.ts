import { readFile } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { Parser } from '@asyncapi/parser';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { CATALOG } from '#libs/domain';
import { topicNames } from '#libs/kafka-log';
import { ASYNCAPI_JSON } from './asyncapi-document.js';
import { LOG_MESSAGES } from './messages.js';

interface Described {
  readonly components: {
    readonly schemas: Readonly<
      Record<string, { readonly properties: Readonly<Record<string, { readonly description?: string }>> }>
    >;
    readonly messages: Readonly<
      Record<string, { readonly examples?: readonly { readonly headers: object; readonly payload: object }[] }>
    >;
  };
}

/** Of the severities that diagnostics have; the others are advice. */
const ERROR_OR_WARNING: readonly number[] = [0, 1];

const parse = async (text: string) => {
  const { document, diagnostics } = await new Parser().parse(text);
  const problems = diagnostics
    .filter(({ severity }) => ERROR_OR_WARNING.includes(severity))
    .map(({ message, path }) => `${path.join('.')}: ${message}`);
  return { document, problems };
};

describe('the AsyncAPI document', () => {
  let parsed: Awaited<ReturnType<typeof parse>>;

  beforeAll(async () => {
    parsed = await parse(ASYNCAPI_JSON);
  });

  it('is valid AsyncAPI 3.0', () => {
    expect(parsed.problems).toEqual([]);
  });

  it('is checked by something that sees what is wrong', async () => {
    const { problems } = await parse('{"asyncapi": "3.0.0", "info": {"title": "t", "version": "1"}, "topics": {}}');
    expect(problems).toEqual([expect.stringContaining('topics')]);
  });

  it('has examples that fit what it says of headers and payloads', () => {
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    ajv.addSchema(JSON.parse(ASYNCAPI_JSON) as object, 'asyncapi');
    const { messages } = (JSON.parse(ASYNCAPI_JSON) as Described).components;
    const examples = Object.entries(messages).flatMap(([name, { examples = [] }]) =>
      examples.map((example) => [name, example] as const),
    );
    expect(examples.length).toBe(LOG_MESSAGES.length);
    for (const [name, example] of examples) {
      for (const part of ['headers', 'payload'] as const) {
        const fits = ajv.validate({ $ref: `asyncapi#/components/messages/${name}/${part}` }, example[part]);
        expect([name, part, fits, ajv.errors]).toEqual([name, part, true, null]);
      }
    }
  });

  it('describes every type that is emitted as a message of the log, under the name that the topic has', () => {
    const log = parsed.document?.channels().get('log');
    expect(log?.address()?.replace('{prefix}', 'gapless')).toBe(topicNames('gapless', []).log);
    const emitted = CATALOG.filter(({ deprecated }) => !deprecated).map(({ event }) => event);
    const described = log?.messages().all();
    expect(described?.map((message) => message.name())).toEqual(emitted);
  });

  it('says how to leave out events that did not happen, examples included', () => {
    const { schemas } = (JSON.parse(ASYNCAPI_JSON) as Described).components;
    const description = schemas['LogHeaders']?.properties['target-endpoint']?.description;
    expect(description).toMatch(/`test` events.*`evt_EXAMPLE`.*Leave out/);
  });

  it('is what docs/asyncapi.json holds', async () => {
    const path = new URL('../../../../docs/asyncapi.json', import.meta.url);
    expect(await readFile(path, 'utf8')).toBe(ASYNCAPI_JSON);
  });
});
