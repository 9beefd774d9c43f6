import { setTimeout as pause } from 'node:timers/promises';
import { PATIENCE_MS } from './infrastructure/eventually.js';

/** An event as a product service submits it. */
export interface Submission {
  readonly id?: string;
  readonly event: string;
  readonly org_id?: string;
  readonly widget_id?: string | null;
  readonly occurred_at?: string;
  readonly data: unknown;
}

/** An envelope as a consumer reads it (contract 3.2). */
export interface Envelope {
  readonly id: string;
  readonly seq: number;
  readonly event: string;
  readonly occurred_at: string;
  readonly timestamp: string;
  readonly org_id: string;
  readonly widget_id: string | null;
  readonly data: unknown;
}

/** A registered endpoint as the api shows it (contract 3.1). */
export interface Webhook {
  readonly id: string;
  readonly secret: string;
  readonly is_active: boolean;
  readonly failure_count: number;
  readonly last_triggered_at: string | null;
}

/** What the api answered, unparsed. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Speaks to the api over HTTP as its users do. */
export class ApiClient {
  /** @param baseUrl without a path */
  constructor(
    private readonly baseUrl: string,
    private readonly apiKey: string,
  ) {}

  async request(method: string, path: string, body?: string): Promise<Answer> {
    const response = await fetch(`${this.baseUrl}/api/v1${path}`, {
      method,
      headers: {
        'x-api-key': this.apiKey,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  /** Submits events, and returns their ids once the brokers have acknowledged them. */
  async emit(events: readonly Submission[]): Promise<readonly string[]> {
    return this.emitText(JSON.stringify({ events }));
  }

  /** The same with a body that is sent as it is. */
  async emitText(body: string): Promise<readonly string[]> {
    const answer = await this.request('POST', '/internal/events', body);
    const { data } = parsed(answer, 202) as { data: readonly { id: string }[] };
    return data.map(({ id }) => id);
  }

  async createWebhook(body: Readonly<Record<string, unknown>>): Promise<Webhook> {
    const answer = await this.request('POST', '/external/webhooks', JSON.stringify(body));
    return (parsed(answer, 201) as { data: Webhook }).data;
  }

  async webhook(id: string): Promise<Webhook> {
    return (parsed(await this.#read(`/external/webhooks/${id}`), 200) as { data: Webhook }).data;
  }

  /** After how long a chat that nobody answers raises its alerts. */
  async setAlertThresholds(orgId: string, { first, second }: { first: number; second: number }): Promise<void> {
    const body = JSON.stringify({ first_alert_seconds: first, second_alert_seconds: second });
    parsed(await this.request('PUT', `/internal/orgs/${orgId}/live-chat-settings`, body), 200);
  }

  /** One page of the feed as it was sent. */
  async feedText(query: string): Promise<string> {
    const answer = await this.#read(`/external/events?${query}`);
    parsed(answer, 200);
    return answer.text;
  }

  /** A busy machine may take longer for a connection to Postgres than the api waits. So a 503 is asked for again. */
  async #read(path: string): Promise<Answer> {
    const untilMs = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.request('GET', path);
      if (answer.status !== 503 || performance.now() >= untilMs) return answer;
      await pause(100);
    }
  }

  /** The whole feed, page by page along `next_seq`. */
  async feed(limit = 1_000): Promise<readonly Envelope[]> {
    const envelopes: Envelope[] = [];
    let since: number | null = 0;
    while (since !== null) {
      const page = JSON.parse(await this.feedText(`since=${since}&limit=${limit}`)) as {
        data: readonly Envelope[];
        next_seq: number | null;
      };
      envelopes.push(...page.data);
      since = page.next_seq;
    }
    return envelopes;
  }
}

function parsed(answer: Answer, status: number): unknown {
  if (answer.status !== status) throw new Error(`expected ${status}, got ${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text);
}
