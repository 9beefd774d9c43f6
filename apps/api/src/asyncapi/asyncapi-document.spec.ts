import { readFile } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { Parser } from '@asyncapi/parser';
import { CATALOG } from '#libs/domain';
import { topicNames } from '#libs/kafka-log';
import { ASYNCAPI_JSON } from './asyncapi-document.js';

const parse = async (text: string) => {
  const { document, diagnostics } = await new Parser().parse(text);
  const problems = diagnostics
    // Advice: tags, contact and the like.
    .filter(({ severity }) => severity <= 1)
    .map(({ message, path }) => `${path.join('.')}: ${message}`);
  return { document, problems };
};

describe('the AsyncAPI document', () => {
  it('is valid AsyncAPI 3.0, its examples included', async () => {
    expect((await parse(ASYNCAPI_JSON)).problems).toEqual([]);
  });

  it('is checked by something that sees what is wrong', async () => {
    const wrong = ASYNCAPI_JSON.replace('"action": "send"', '"action": "sing"');
    expect((await parse(wrong)).problems).not.toEqual([]);
  });

  it('describes every type that is emitted as a message of the log, under the name that the topic has', async () => {
    const { document } = await parse(ASYNCAPI_JSON);
    const log = document?.channels().get('log');
    expect(log?.address()?.replace('{prefix}', 'gapless')).toBe(topicNames('gapless', []).log);
    const emitted = CATALOG.filter(({ deprecated }) => !deprecated).map(({ event }) => event);
    expect(
      log
        ?.messages()
        .all()
        .map((message) => message.name()),
    ).toEqual(emitted);
  });

  it('is what docs/asyncapi.json holds', async () => {
    const path = new URL('../../../../docs/asyncapi.json', import.meta.url);
    expect(await readFile(path, 'utf8')).toBe(ASYNCAPI_JSON);
  });
});
