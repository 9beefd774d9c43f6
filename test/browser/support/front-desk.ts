import { afterAll, afterEach, beforeAll, expect } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { Store, type ApiKeyScope } from '#libs/postgres';
import { DeliverySuite } from '../../e2e/delivery/support/delivery-suite.js';
import type { Operator } from '../../e2e/delivery/support/operator.js';
import { anApiKey } from '../../support/api-keys.js';
import { anOrgId } from '../../support/ids.js';
import type { Receiver } from '../../support/receiver.js';
import { aBrowser } from './a-browser.js';
import { Visitor, type View } from './visitor.js';

/** A browser that has a session of an org of its own and shows no page yet, and a client of that org over HTTP. */
export interface Desk {
  readonly visitor: Visitor;
  readonly operator: Operator;
  readonly apiKey: string;
}

/** A delivery that fails is soon being retried, and stays so. No endpoint is disabled by itself. */
export const RETRIED_SOON = { RETRY_SCHEDULE: '100ms,1h', AUTO_DISABLE_AFTER: '10000', SWEEP_INTERVAL: '200ms' };

/** A Gapless and a browser that the tests of a file share. Each test has orgs and visitors of its own. */
export class FrontDesk {
  readonly #visitors: Visitor[] = [];

  private constructor(
    readonly suite: DeliverySuite,
    private readonly browser: Browser,
  ) {}

  static async open(environment: Readonly<Record<string, string>> = {}): Promise<FrontDesk> {
    const [suite, browser] = await Promise.all([DeliverySuite.start(environment), aBrowser()]);
    return new FrontDesk(suite, browser);
  }

  async aDesk(view?: View): Promise<Desk> {
    const orgId = anOrgId();
    const [visitor, operator, apiKey] = await Promise.all([
      this.aVisitor(view),
      this.suite.anOperator(orgId),
      anApiKey(this.suite.app.app.get(Store), orgId),
    ]);
    await visitor.bringSession(apiKey);
    return { visitor, operator, apiKey };
  }

  /** A key of the operator's org with only these scopes. */
  aKey({ orgId }: Operator, scopes: readonly ApiKeyScope[]): Promise<string> {
    return anApiKey(this.suite.app.app.get(Store), orgId, scopes);
  }

  async aVisitor(view?: View, url = this.suite.app.url): Promise<Visitor> {
    const visitor = await Visitor.come(this.browser, url, view);
    this.#visitors.push(visitor);
    return visitor;
  }

  aFailingReceiver(status = 503, body = 'no room'): Promise<Receiver> {
    return this.suite.aReceiver((_request, response) => response.writeHead(status).end(body));
  }

  /** Sends the visitors of a test away. @returns what their browsers complained of */
  async clear(): Promise<readonly string[]> {
    const visitors = this.#visitors.splice(0);
    await Promise.all(visitors.map((visitor) => visitor.leave()));
    return visitors.flatMap(({ complaints }) => complaints);
  }

  async close(): Promise<void> {
    await this.browser.close();
    await this.suite.stop();
  }
}

/**
 * Opens a front desk for the tests of a file. Each of them fails if a browser complained.
 * @param begin is called with the desk before the first test
 */
export function shareFrontDesk(
  begin: (desk: FrontDesk) => void,
  environment: Readonly<Record<string, string>> = {},
): void {
  let desk: FrontDesk;

  beforeAll(async () => {
    desk = await FrontDesk.open(environment);
    begin(desk);
  });

  afterEach(async () => {
    expect(await desk.clear()).toEqual([]);
  });

  afterAll(async () => {
    await desk.close();
  });
}
