import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { curlCommand } from './curl-command.js';

const REQUEST = {
  url: 'https://example.com/hook?a=1&b=$HOME&c[]={d}',
  url_note: null,
  method: 'POST' as const,
  headers: { 'content-type': 'application/json', 'x-service-event': 'test', 'content-length': '9', traceparent: null },
  signature_note: null,
  body: `@{"it's": "\`id\` $(id)\\n%s"}\n`,
};

/** What a shell makes of the command: the arguments of curl, and at last its input. */
function partsOf(command: string): readonly string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; cat; }; ${command}`;
  return execFileSync('/bin/sh', { input: script, encoding: 'utf8' }).split('\0');
}

describe('a request as a command', () => {
  it('means the same to a shell and to curl, whatever characters it holds', () => {
    expect(partsOf(curlCommand(REQUEST) ?? '')).toEqual([
      ...['-g', '-i', '-X', 'POST', REQUEST.url],
      ...['-H', 'content-type: application/json', '-H', 'x-service-event: test'],
      ...['--data-binary', '@-', REQUEST.body],
    ]);
  });

  it('takes a body that is too large for an argument', () => {
    const body = JSON.stringify('x'.repeat(2 ** 18));
    expect(partsOf(curlCommand({ ...REQUEST, body }) ?? '').slice(-2)).toEqual(['@-', body]);
  });

  it('is not there when it is not known where it went', () => {
    expect(curlCommand({ ...REQUEST, url: null })).toBeUndefined();
  });
});
