import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance } from 'fastify';
import type { Config } from '#libs/runtime';

/**
 * Pages run only scripts of this service and connect only to it. No page can be framed but the portal, by `PORTAL_ORIGINS`. For styles that components set on
 * their elements, see ADR 19.
 */
function pagePolicy({ ancestors, images }: { readonly ancestors: readonly string[]; readonly images: string }): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    `img-src 'self' data:${images}`,
    "font-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    `frame-ancestors ${ancestors.length === 0 ? "'none'" : ancestors.join(' ')}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
}

const PAGE_POLICY = pagePolicy({ ancestors: [], images: '' });

/** The settings of the customer portal that its page depends on. */
export type PortalPageSettings = Pick<Config, 'portalOrigins' | 'portalLogoUrl'>;

const NOT_EMBEDDED: PortalPageSettings = { portalOrigins: [], portalLogoUrl: null };

/** Paths of other parts of the service. No page is served there, even if no operation matches. */
const NOT_PAGES: ReadonlySet<string> = new Set([
  'api',
  'docs',
  'openapi.json',
  'asyncapi.json',
  'health',
  'mcp',
  'metrics',
  'problems',
]);

/** Pages that isolate themselves from other origins may embed the portal, too. */
const EMBEDDABLE = ['cross-origin-resource-policy', 'cross-origin'] as const;

/** The name of a file that Vite builds. Other paths with a dot match no file; pages have no dot. */
const FILE = /^(?:[\w-][\w.-]*\/)*[\w-][\w.-]*$/;

/** The names of files in this folder hold a hash of their content. */
const HASHED = 'assets/';
const FOREVER = 'public, max-age=31536000, immutable';
/** Stored by the browser, but checked with the server before each use. */
const REVALIDATED = 'no-cache';

/** The route of the pages. It takes every path that no other route takes. */
export const PAGES = '/*';

const NOT_BUILT = `The dashboard is not built: there is no dist/dashboard/index.html.

Build it with: npm run bootstrap
Then start Gapless again. (npm start does both.)

The HTTP interface is there meanwhile, and described at /docs.
`;

/** Returns the folder of the built dashboard, beside `package.json`, wherever this file is compiled to. */
function builtDashboard(directory = import.meta.dirname): string {
  return existsSync(join(directory, 'package.json'))
    ? join(directory, 'dist/dashboard')
    : builtDashboard(dirname(directory));
}

/**
 * Serves the dashboard's files, the portal's page below `/portal`, and the dashboard's page for every other path that no
 * other part serves.
 * @param directory the output of Vite; clients that accept compressed files get those
 */
export function serveDashboard(
  instance: FastifyInstance,
  { portalOrigins, portalLogoUrl }: PortalPageSettings = NOT_EMBEDDED,
  directory = builtDashboard(),
): void {
  const portalPolicy = pagePolicy({
    ancestors: portalOrigins,
    images: portalLogoUrl === null ? '' : ` ${new URL(portalLogoUrl).origin}`,
  });
  const hashed = join(directory, HASHED);
  void instance.register(fastifyStatic, {
    root: directory,
    serve: false,
    preCompressed: true,
    cacheControl: false,
    // Called only for files that exist, so that a missing file is not cached.
    setHeaders: (response, path) => {
      response.setHeader('cache-control', path.startsWith(hashed) ? FOREVER : REVALIDATED);
    },
  });
  instance.get(PAGES, (request, reply) => {
    const { '*': path } = request.params as { readonly '*': string };
    // A client whose base url ends with a slash, or that writes `API`, must not take a page for its answer.
    const [first = ''] = path.replace(/^\/+/, '').toLowerCase().split('/', 1);
    const isFile = path.includes('.');
    if (NOT_PAGES.has(first) || (isFile && !FILE.test(path))) {
      reply.callNotFound();
      return reply;
    }
    reply.header('content-security-policy', PAGE_POLICY).header('vary', 'accept-encoding');
    if (isFile) return reply.sendFile(path);
    const page = first === 'portal' ? 'portal.html' : 'index.html';
    if (first === 'portal') {
      reply.header('content-security-policy', portalPolicy);
      if (portalOrigins.length > 0) {
        // It knows no list of origins. The security headers are set on Node's response, before Fastify's.
        reply.raw.removeHeader('x-frame-options');
        reply.header(...EMBEDDABLE);
      }
    }
    if (existsSync(join(directory, page))) return reply.sendFile(page);
    return reply.status(503).header('cache-control', 'no-store').type('text/plain; charset=utf-8').send(NOT_BUILT);
  });
}
