import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  Controller,
  HttpCode,
  HttpException,
  Inject,
  Module,
  Post,
  Req,
  Res,
  type BeforeApplicationShutdown,
  type DynamicModule,
  type FactoryProvider,
  type ModuleMetadata,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type Type,
} from '@nestjs/common';
import { Webhook, type WebhookOptions } from '../webhook/webhook.js';
import type { NodeRequest } from './read-body.js';

const WEBHOOK = Symbol('@gapless/consumer webhook');
const MODULE_ID = Symbol('@gapless/consumer module');

export interface GaplessWebhookModuleOptions extends WebhookOptions {
  /** Such as `hooks`. */
  readonly path: string;
}

export interface GaplessWebhookModuleAsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** Such as `hooks`. */
  readonly path: string;
  /** The providers that Nest passes to `useFactory`. */
  readonly inject?: FactoryProvider['inject'];
  // Nest itself types the arguments of factories like this.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly useFactory: (...dependencies: any[]) => WebhookOptions | Promise<WebhookOptions>;
}

/** A response of Express, or one of Fastify, whose `raw` is Node's own response. */
type PlatformResponse = ServerResponse | { readonly raw: ServerResponse };

function controllerAt(path: string): Type {
  @Controller(path)
  class GaplessWebhookController implements OnModuleDestroy, BeforeApplicationShutdown, OnApplicationShutdown {
    /** Pushes from their acceptance until they are handled. */
    readonly #taken = new Set<Promise<void>>();

    constructor(@Inject(WEBHOOK) readonly webhook: Webhook) {}

    @Post()
    @HttpCode(204)
    async receive(
      @Req() request: NodeRequest,
      // With `passthrough`, Nest still sends the answer, and the application's filters and interceptors still run.
      @Res({ passthrough: true }) response: PlatformResponse,
    ): Promise<void> {
      if (!Buffer.isBuffer(request.rawBody)) {
        throw new TypeError('the raw body was not kept: create the application with { rawBody: true }');
      }
      const reception = await this.webhook.receive({
        body: request.rawBody,
        header: (name) => request.headers[name],
      });
      if (reception.kind === 'refused') throw new HttpException(reception.reason, reception.status);
      const raw = 'raw' in response ? response.raw : response;
      // The sender left while its push waited. It got no answer, so it sends the push again.
      if (raw.closed) return;
      const handled = new Promise<void>((resolve) => {
        raw.once('close', () => {
          resolve(reception.begin());
        });
      }).finally(() => this.#taken.delete(handled));
      this.#taken.add(handled);
    }

    // Handlers use other providers, which may close in any of these hooks. Pushes can arrive until the server is closed,
    // which happens before the last hook.
    onModuleDestroy(): Promise<void> {
      return this.#idle();
    }

    beforeApplicationShutdown(): Promise<void> {
      return this.#idle();
    }

    onApplicationShutdown(): Promise<void> {
      return this.#idle();
    }

    async #idle(): Promise<void> {
      await this.webhook.idle();
      while (this.#taken.size > 0) await Promise.all(this.#taken);
    }
  }
  return GaplessWebhookController;
}

/**
 * Receives pushes in NestJS, on Express or Fastify. Create the application with `{ rawBody: true }`. On Express, raise
 * the parser's limit as well: `app.useBodyParser('json', { limit: '1mb' })`. `app.close()` waits for the pushes that are
 * being handled.
 */
@Module({})
export class GaplessWebhookModule {
  static forRoot({ path, ...options }: GaplessWebhookModuleOptions): DynamicModule {
    return GaplessWebhookModule.forRootAsync({ path, useFactory: () => options });
  }

  static forRootAsync(options: GaplessWebhookModuleAsyncOptions): DynamicModule {
    const { path, imports = [], inject = [], useFactory } = options;
    return {
      module: GaplessWebhookModule,
      imports,
      controllers: [controllerAt(path)],
      providers: [
        {
          provide: WEBHOOK,
          inject,
          useFactory: async (...dependencies: unknown[]) => new Webhook(await useFactory(...dependencies)),
        },
        // Nest 10 takes modules with equal metadata for one module, and all these would have equal metadata.
        { provide: MODULE_ID, useValue: randomUUID() },
      ],
    };
  }
}
