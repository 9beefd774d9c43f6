import type { OrgId } from '#libs/domain';
import { Store } from '#libs/postgres';
import type { GaplessApp } from '#libs/platform';
import { ApiClient } from '../../../support/api-client.js';
import { anApiKey } from '../../../support/api-keys.js';
import { aGapless, type GaplessUnderTest } from '../../../support/gapless.js';
import { anOrgId } from '../../../support/ids.js';
import { eventually } from '../../../support/infrastructure/eventually.js';
import { aReceiver, type Receiver } from '../../../support/receiver.js';
import { always } from './answers.js';
import { Operator, type EndpointWithSecret } from './operator.js';

/** An endpoint of an organization of its own. */
export interface Subscribed {
  readonly operator: Operator;
  readonly receiver: Receiver;
  readonly endpoint: EndpointWithSecret;
}

/** What a suite's tests share: a Gapless with all its stages. Each test has orgs and receivers of its own. */
export class DeliverySuite {
  readonly #opened: { close(): Promise<void> }[] = [];

  constructor(
    readonly gapless: GaplessUnderTest,
    /** The process that runs all stages. */
    readonly app: GaplessApp,
  ) {}

  static async start(env: Readonly<Record<string, string>>): Promise<DeliverySuite> {
    const gapless = await aGapless(env);
    return new DeliverySuite(gapless, await gapless.startAll());
  }

  /**
   * Returns the operator of an org: by default one that nobody else uses.
   * @param app the process whose api is asked, if not the suite's
   */
  async anOperator(orgId: OrgId = anOrgId(), app = this.app): Promise<Operator> {
    return new Operator(orgId, new ApiClient(app.url, await anApiKey(this.app.app.get(Store), orgId)));
  }

  /** Asks Postgres as its owner: for what the api does not show. */
  query<Row>(sql: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    return this.app.app.get(Store).query<Row>(sql, parameters);
  }

  /** Asks the database with the feed of the org. */
  async queryFeed<Row>(orgId: OrgId, sql: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    return (await this.app.app.get(Store).feed.of(orgId)).query<Row>(sql, parameters);
  }

  /** Makes the table of the org's feed for what was appended so long ago: it may be that of the day before. */
  async makeDayBefore(orgId: OrgId, interval: string): Promise<void> {
    const day = `select gapless_make_day('events', ((now() - $1::interval) at time zone 'UTC')::date)`;
    // The projector or another test may make it at the same moment.
    await eventually(() => this.queryFeed(orgId, day, [interval]));
  }

  async aReceiver(answer?: Receiver['answer']): Promise<Receiver> {
    return this.closing(await aReceiver(answer));
  }

  /** Closes it after the last test. */
  closing<T extends { close(): Promise<void> }>(opened: T): T {
    this.#opened.push(opened);
    return opened;
  }

  async stop(): Promise<void> {
    // Receivers first: who hangs on one of them need not be waited for.
    await Promise.all(this.#opened.map((opened) => opened.close()));
    await this.gapless.stop();
  }

  /** Registers an endpoint for new tickets. @param settings further members of its registration */
  async aSubscriber(settings: object = {}, answer: Receiver['answer'] = always(200)): Promise<Subscribed> {
    const operator = await this.anOperator();
    const receiver = await this.aReceiver(answer);
    const endpoint = await operator.register({ url: receiver.url, events: ['ticket.created'], ...settings });
    return { operator, receiver, endpoint };
  }
}
