import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { FastifyInstance } from 'fastify';

/** The page loads everything from this service, so it works without the internet. */
const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets styles on its elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

const PAGE = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Gapless API</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="description"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`;

const START = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#description',
  deepLinking: true,
  docExpansion: 'list',
  validatorUrl: null,
});
`;

/** Files of the package `swagger-ui-dist`. */
const ASSETS: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

/** `GET /docs`: the description of the HTTP interface for people. */
export function serveDocs(instance: FastifyInstance): void {
  const directory = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const page = (path: string, type: string, read: () => string | Promise<Buffer>) => {
    instance.get(path, async (_request, reply) => {
      reply.header('content-security-policy', PAGE_POLICY).type(type);
      return read();
    });
  };
  page('/docs', 'text/html; charset=utf-8', () => PAGE);
  page('/docs/start.js', 'text/javascript; charset=utf-8', () => START);
  for (const [name, type] of Object.entries(ASSETS)) page(`/docs/${name}`, type, () => readFile(join(directory, name)));
}
