import { randomBytes } from 'node:crypto';
import type { Type } from '@nestjs/common';
import { systemClock, type OrgId } from '#libs/domain';
import { API_KEY_SECRET_BYTES, ApiKeyRecords, ORG_KEY_SCOPES, Store, type ApiKeyScope } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { Identifiers } from '#libs/runtime';
import { anApiKey } from '../../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../support/gapless.js';
import { ALL_STAGES, API_HTTP } from '../../../support/stages.js';
import { DescribedApi } from './described-api.js';
import { expectHeaders, expectProblem, type Problem } from './expect-answer.js';
import { HttpPort, type Answer, type Ask } from './http-port.js';

const identifiers = new Identifiers(systemClock);

/** What of an operation is counted, where it is not its requests by key. */
const COUNTED: Readonly<Record<string, 'events' | 'sign_ins' | 'nothing'>> = {
  ingestEvents: 'events',
  openDashboardSession: 'sign_ins',
  openPortalSession: 'nothing',
  readSigningKeys: 'nothing',
};

/** A request and who makes it: `null` is nobody. */
export interface KeyedAsk extends Ask {
  readonly key: string | null;
}

/** A request with a JSON body. */
export function posting(path: string, body: unknown): { method: string; path: string } & Pick<Ask, 'headers' | 'body'> {
  return withJson({ method: 'POST', path }, body);
}

export function withJson<T extends object>(ask: T, body: unknown): T & Pick<Ask, 'headers' | 'body'> {
  return { ...ask, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

/** A Gapless whose every answer is checked: against contract 8, 8.1, and against its own description. */
export class ApiSuite {
  private constructor(
    readonly gapless: GaplessUnderTest,
    readonly app: GaplessApp,
    readonly described: DescribedApi,
    readonly port: HttpPort,
  ) {}

  static async start(
    env: Readonly<Record<string, string>> = {},
    modules: readonly Type[] = ALL_STAGES,
  ): Promise<ApiSuite> {
    const gapless = await aGapless(env);
    const app = await gapless.start(modules, { http: API_HTTP });
    const port = new HttpPort(app.url);
    const { text } = await port.ask({ method: 'GET', path: '/openapi.json' });
    return new ApiSuite(gapless, app, new DescribedApi(text), port);
  }

  async stop(): Promise<void> {
    this.port.close();
    await this.gapless.stop();
  }

  get keys(): ApiKeyRecords {
    return new ApiKeyRecords(this.app.app.get(Store));
  }

  /** A key with every scope that it may hold. */
  aKey(orgId: OrgId | null): Promise<string> {
    return anApiKey(this.app.app.get(Store), orgId);
  }

  async aKeyWith(
    orgId: OrgId | null,
    scopes: readonly ApiKeyScope[] = ORG_KEY_SCOPES,
    expiresAt: Date | null = null,
  ): Promise<{ readonly id: string; readonly key: string }> {
    const id = identifiers.apiKeyId();
    const secret = randomBytes(API_KEY_SECRET_BYTES);
    return { id, key: await this.keys.create({ id, orgId, scopes, secret, createdAt: new Date(), expiresAt }) };
  }

  /** Asks, and checks what every answer has to be. */
  async ask({ key, ...ask }: KeyedAsk): Promise<Answer> {
    const keyed = { ...ask, headers: { ...ask.headers, ...(key === null ? {} : { 'x-api-key': key }) } };
    const answer = await this.port.ask(keyed);
    const operation = this.described.operationOf(ask);
    const isCounted = operation !== undefined && answer.status !== 401;
    expectHeaders(answer, isCounted ? (COUNTED[operation.operationId] ?? 'requests') : 'nothing');
    if (answer.status >= 400) expectProblem(ask, answer);
    this.described.note(ask, answer);
    return answer;
  }

  /** Asks for what is refused. */
  async refusal(ask: KeyedAsk): Promise<Problem> {
    const answer = await this.ask(ask);
    if (answer.status < 400) throw new Error(`${ask.method} ${ask.path} was accepted: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as Problem;
  }

  /** Asks for what is accepted. @returns `data` of the answer */
  async data<T>(ask: KeyedAsk, status: number): Promise<T> {
    const answer = await this.ask(ask);
    if (answer.status !== status) throw new Error(`${ask.method} ${ask.path}: ${answer.status} ${answer.text}`);
    return (JSON.parse(answer.text) as { data: T }).data;
  }
}
