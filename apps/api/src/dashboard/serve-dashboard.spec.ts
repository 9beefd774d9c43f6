import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { brotliCompressSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fastify, { type FastifyInstance } from 'fastify';
import { serveDashboard, type PortalPageSettings } from './serve-dashboard.js';

const PAGE = '<!doctype html><title>Gapless</title>';
const PORTAL_PAGE = '<!doctype html><title>Portal</title>';
const PORTAL: PortalPageSettings = {
  portalOrigins: ['https://app.example.com', 'https://*.example.org'],
  portalLogoUrl: 'https://cdn.example.com/logo.svg',
};
const SCRIPT = 'export const answer = 42;\n'.repeat(50);

let directory: string;
let instance: FastifyInstance;
let url: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'gapless-dashboard-'));
  await mkdir(join(directory, 'assets'));
  await writeFile(join(directory, 'index.html'), PAGE);
  await writeFile(join(directory, 'portal.html'), PORTAL_PAGE);
  await writeFile(join(directory, 'favicon.svg'), '<svg/>');
  await writeFile(join(directory, '.secret.txt'), 'not for anybody');
  await writeFile(join(directory, 'assets/index-3f2a.js'), SCRIPT);
  await writeFile(join(directory, 'assets/index-3f2a.js.br'), brotliCompressSync(SCRIPT));
  instance = aServer(directory);
  url = await instance.listen({ port: 0 });
});

afterAll(async () => {
  await instance.close();
  await rm(directory, { recursive: true });
});

function aServer(root: string, portal: PortalPageSettings = PORTAL): FastifyInstance {
  const server = fastify();
  // As Nest sets the security headers of all responses.
  server.addHook('onRequest', (_request, reply, done) => {
    reply.raw.setHeader('x-frame-options', 'DENY');
    done();
  });
  server.setNotFoundHandler((_request, reply) => reply.status(404).send('nothing'));
  server.get('/problems/:code', () => 'a problem');
  serveDashboard(server, portal, root);
  return server;
}

/** Each with a connection of its own, so that none is left to wait for. */
const get = (path: string, headers: Record<string, string> = {}) =>
  fetch(`${url}${path}`, { headers: { connection: 'close', ...headers } });

describe('the files of the dashboard', () => {
  it.each(['/', '/endpoints', '/endpoints/whe_01K2Z8Q4T7WJ5M3N9R6XBCDEFG/deliveries', '/events?seq=4.2', '/apidocs'])(
    'are one page for %s, which finds its way by itself',
    async (path) => {
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([200, PAGE]);
      expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(answer.headers.get('cache-control')).toBe('no-cache');
    },
  );

  it('run scripts of their own alone, and are framed by nobody', async () => {
    const policy = String((await get('/')).headers.get('content-security-policy'));
    const directives = new Map(policy.split('; ').map((text) => text.split(/ (.*)/) as [string, string]));
    expect(directives.get('script-src')).toBe("'self'");
    expect(directives.get('default-src')).toBe("'none'");
    expect(directives.get('frame-ancestors')).toBe("'none'");
    expect(directives.get('connect-src')).toBe("'self'");
    expect(policy).not.toContain('unsafe-eval');
  });

  it('are kept for ever where their name has a hash in it', async () => {
    const script = await get('/assets/index-3f2a.js');
    expect([script.status, await script.text()]).toEqual([200, SCRIPT]);
    expect(script.headers.get('content-type')).toMatch(/javascript/);
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    const icon = await get('/favicon.svg');
    expect([icon.status, icon.headers.get('cache-control')]).toEqual([200, 'no-cache']);
  });

  it('are sent compressed to those who accept that', async () => {
    const answer = await get('/assets/index-3f2a.js', { 'accept-encoding': 'gzip, br' });
    expect(answer.headers.get('content-encoding')).toBe('br');
    expect(answer.headers.get('vary')).toMatch(/accept-encoding/i);
    expect(answer.headers.get('cache-control')).toContain('immutable');
    expect(await answer.text()).toBe(SCRIPT);
  });

  it('are asked about, and not sent again', async () => {
    const etag = (await get('/')).headers.get('etag');
    const again = await get('/', { 'if-none-match': String(etag), 'cache-control': 'max-age=0' });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it.each([
    '/api/v1/nothing',
    '/api',
    '//api/v1/external/events',
    '/API/v1/external/events',
    '/docs/nothing',
    '/health',
    '/mcp/',
    '//mcp',
    '/MCP',
    '/metrics',
    '/openapi.json',
    '/asyncapi.json',
    '/problems',
    '/assets/index-gone.js',
    '/robots.txt',
    '/.secret.txt',
    '/assets/..%2f.secret.txt',
    '/..%2f..%2fetc/passwd.d',
    '/assets//index-3f2a.js',
    '/a%00.js',
  ])('do not include %s, and no page is served instead', async (path) => {
    const answer = await get(path);
    expect([answer.status, await answer.text()]).toEqual([404, 'nothing']);
    expect(answer.headers.get('cache-control')).toBeNull();
  });

  it('let the pages of PORTAL_ORIGINS alone frame the portal, and nothing else', async () => {
    for (const path of ['/portal', '/portal/endpoints/whe_1']) {
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([200, PORTAL_PAGE]);
      const policy = String(answer.headers.get('content-security-policy')).split('; ');
      expect(policy).toContain('frame-ancestors https://app.example.com https://*.example.org');
      expect(policy).toContain("img-src 'self' data: https://cdn.example.com");
      expect(policy).toContain("script-src 'self'");
      expect(answer.headers.get('x-frame-options')).toBeNull();
    }
    for (const path of ['/', '/portals', '/assets/index-3f2a.js']) {
      const answer = await get(path);
      expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(answer.headers.get('x-frame-options')).toBe('DENY');
    }
  });

  it('let nobody frame the portal without PORTAL_ORIGINS', async () => {
    const server = aServer(directory, { portalOrigins: [], portalLogoUrl: null });
    const answer = await fetch(`${await server.listen({ port: 0 })}/portal`, { headers: { connection: 'close' } });
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    await server.close();
  });

  it('leave what another part answers to that', async () => {
    expect(await (await get('/problems/not_found')).text()).toBe('a problem');
  });

  it('say how to build them while they are not there', async () => {
    const server = aServer(join(directory, 'nowhere'));
    const answer = await fetch(await server.listen({ port: 0 }), { headers: { connection: 'close' } });
    expect(answer.status).toBe(503);
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await answer.text()).toContain('npm run bootstrap');
    await server.close();
  });
});
