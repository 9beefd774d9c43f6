import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';

/**
 * Pages run the scripts that they come with, and talk to this service alone; nobody frames them. Styles that components
 * set on their elements are not scripts' business: see ADR 19.
 */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

/** Paths of other parts. No page is served there, even if there is no such operation. */
const NOT_PAGES: ReadonlySet<string> = new Set([
  'api',
  'docs',
  'openapi.json',
  'asyncapi.json',
  'health',
  'metrics',
  'problems',
]);

/** A file as Vite names them; whatever else has a dot is none. Pages have no dot. */
const FILE = /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/;

/** Names of files in here hold a hash of what is in them. */
const HASHED = 'assets/';
const FOREVER = 'public, max-age=31536000, immutable';
/** Kept, but asked about each time. */
const REVALIDATED = 'no-cache';

const NOT_BUILT = `The dashboard is not built: there is no dist/dashboard/index.html.

Build it with: npm run bootstrap
Then start Gapless again. (npm start does both.)

The HTTP interface is there meanwhile, and described at /docs.
`;

/** Beside the package's `package.json`, wherever this file was compiled to. */
function builtDashboard(directory = import.meta.dirname): string {
  return existsSync(join(directory, 'package.json'))
    ? join(directory, 'dist/dashboard')
    : builtDashboard(dirname(directory));
}

/**
 * `GET /…`: the dashboard's files, and for every other path that is nobody's the page that finds its way by itself.
 * @param directory what Vite has built; compressed files beside the others are sent to those who accept them
 */
export function serveDashboard(instance: FastifyInstance, directory = builtDashboard()): void {
  const hashed = join(directory, HASHED);
  void instance.register(fastifyStatic, {
    root: directory,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    // Called with what is found: an answer that there is no such file is not kept.
    setHeaders: (response, path) => {
      response.setHeader('cache-control', path.startsWith(hashed) ? FOREVER : REVALIDATED);
    },
  });
  instance.get('/*', (request, reply) => {
    const { '*': path } = request.params as { readonly '*': string };
    const [first = ''] = path.split('/', 1);
    const isFile = path.includes('.');
    if (NOT_PAGES.has(first) || (isFile && !FILE.test(path))) {
      reply.callNotFound();
      return reply;
    }
    reply.header('content-security-policy', PAGE_POLICY).header('vary', 'accept-encoding');
    if (isFile) return reply.sendFile(path);
    if (existsSync(join(directory, 'index.html'))) return reply.sendFile('index.html');
    return reply.status(503).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(NOT_BUILT);
  });
}
