import type { FastifyPluginCallback } from 'fastify';
import type { Webhook } from '../webhook/webhook.js';

export interface FastifyWebhookOptions {
  readonly webhook: Webhook;
  /** Such as `/hooks`. */
  readonly path: string;
}

/**
 * Receives pushes in Fastify: `app.register(fastifyWebhook, { webhook, path: '/hooks' })`. Other routes keep their body
 * parsers.
 */
export const fastifyWebhook: FastifyPluginCallback<FastifyWebhookOptions> = (fastify, { webhook, path }, done) => {
  const bodyLimit = webhook.maxBodyBytes;
  fastify.removeAllContentTypeParsers();
  fastify.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit }, (_request, body, parsed) => {
    parsed(null, body);
  });
  fastify.post(path, { bodyLimit }, async (request, reply) => {
    const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
    const reception = await webhook.receive({ body, header: (name) => request.headers[name] });
    if (reception.kind === 'taken') reply.raw.once('close', () => void reception.begin());
    return reply.code(reception.status).send();
  });
  done();
};
