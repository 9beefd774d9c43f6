import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MCP_JUDGES, runProgram } from '../../../support/outside-clients.js';

/** What the suite finds by one of its checks. */
interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  readonly errorMessage?: string;
}

/**
 * Judges a server by the protocol's conformance suite.
 * @param revision the one whose requirements count
 */
export async function judge(baseUrl: string, key: string, revision: string): Promise<readonly Check[]> {
  const way = await aWayWithKey(baseUrl, key);
  const results = mkdtempSync(join(tmpdir(), 'gapless-conformance-'));
  try {
    await runProgram(process.execPath, [
      '--import',
      join(import.meta.dirname, 'on-node-20.mjs'),
      join(MCP_JUDGES, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
      ...['server', '--url', `${way.url}/mcp`, '--requirements', revision, '--output-dir', results],
      // It ends with 1 if any check failed. Which ones may, the test knows.
    ]).catch(() => undefined);
    return readdirSync(results).flatMap((scenario) => {
      const checks = JSON.parse(readFileSync(join(results, scenario, 'checks.json'), 'utf8')) as Check[];
      return checks.map((check) => ({ ...check, scenario: scenario.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, '') }));
    });
  } finally {
    rmSync(results, { recursive: true });
    await way.close();
  }
}

/** Passes requests on with an API key, because the suite has none. */
async function aWayWithKey(baseUrl: string, key: string) {
  const server = createServer((request, response) => {
    const headers = { ...request.headers, authorization: `Bearer ${key}` };
    const passed = ask(new URL(request.url ?? '/', baseUrl), { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}
