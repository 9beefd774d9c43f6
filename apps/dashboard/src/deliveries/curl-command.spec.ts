import { execFileSync } from 'node:child_process';
import { describe, expect, it } from '@jest/globals';
import { curlCommand } from './curl-command.js';

const REQUEST = {
  url: 'https://example.com/hook?a=1&b=$HOME',
  url_note: null,
  method: 'POST' as const,
  headers: { 'content-type': 'application/json', 'x-service-event': 'test', 'content-length': '9', traceparent: null },
  signature_note: null,
  body: `@{"it's": "\`id\` $(id)\\n"}`,
};

/** What a shell makes of the command's words. */
function wordsOf(command: string): readonly string[] {
  const script = `curl() { for word in "$@"; do printf '%s\\0' "$word"; done; }; ${command}`;
  return execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0').slice(0, -1);
}

describe('a request as a command', () => {
  it('means the same to a shell, whatever characters it holds', () => {
    expect(wordsOf(curlCommand(REQUEST) ?? '')).toEqual([
      ...['-i', '-X', 'POST', REQUEST.url],
      ...['-H', 'content-type: application/json', '-H', 'x-service-event: test'],
      ...['--data-raw', REQUEST.body],
    ]);
  });

  it('is not there when it is not known where it went', () => {
    expect(curlCommand({ ...REQUEST, url: null })).toBeUndefined();
  });
});
