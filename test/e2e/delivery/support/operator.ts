import type { OrgId } from '#libs/domain';
import type { Answer, ApiClient, Envelope, Submission } from '../../../support/api-client.js';
import { eventually } from '../../../support/infrastructure/eventually.js';

/** An endpoint (contract 3.1). */
export interface Endpoint {
  readonly id: string;
  readonly name: string | null;
  readonly description: string | null;
  readonly url: string;
  readonly events: readonly string[];
  readonly widget_ids: readonly string[] | null;
  readonly is_active: boolean;
  readonly failure_count: number;
  readonly last_triggered_at: string | null;
  readonly created_at: string;
}

export interface EndpointWithSecret extends Endpoint {
  readonly secret: string;
}

/** How an endpoint is doing (contract 3.1). */
export interface EndpointHealth {
  readonly status: 'healthy' | 'failing' | 'disabled' | 'paused' | 'never_tried';
  readonly recent_deliveries: number;
  readonly recent_failed: number;
  readonly delivered_24h: number;
  readonly failed_attempts_24h: number;
  readonly pending: number;
  readonly oldest_pending_at: string | null;
  readonly last_success_at: string | null;
  readonly last_failure_at: string | null;
  readonly last_error: string | null;
  readonly p50_ms: number | null;
  readonly p95_ms: number | null;
  readonly disabled_at: string | null;
  readonly disabled_reason: string | null;
}

/** A delivery (contract 3.5). */
export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly event_id: string;
  readonly seq: number;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly attempts: number;
  readonly response_status: number | null;
  readonly last_error: string | null;
  readonly next_attempt_at: string | null;
  readonly delivered_at: string | null;
  readonly created_at: string;
}

/** An attempt in a delivery's log (contract 3.5). */
export interface Attempt {
  readonly attempt: number;
  readonly due_at: string | null;
  readonly waited_for: 'order' | 'pace' | 'slow_lane' | null;
  readonly at: string;
  readonly duration_ms: number;
  readonly response_status: number | null;
  readonly error: string | null;
  readonly response_excerpt: string | null;
  readonly batch: { readonly first_seq: number; readonly last_seq: number } | null;
}

export interface WholeDelivery extends Delivery {
  readonly endpoint_id: string;
  readonly attempts_log: readonly Attempt[];
  /** The latest attempt as it was sent. */
  readonly request: object | null;
  readonly envelope: Envelope | null;
}

/** A page of the delivery log, as it was sent. */
export interface DeliveryPage {
  readonly data: readonly Delivery[];
  readonly next_cursor: string | null;
}

/** Why the api refused something (contract 8). */
export interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly errors?: readonly { readonly pointer: string; readonly code: string }[];
}

/** Works with the endpoints of an org as those who operate it do. Every method throws unless the api did as it was asked. */
export interface BegunRecovery {
  readonly id: string | null;
  readonly complete: boolean;
  readonly matched: number;
  readonly scheduled: number;
}

export interface Recovery {
  readonly id: string;
  readonly status: string;
  readonly matched: number;
  readonly scheduled: number;
  readonly looked_through_seq: number;
  readonly through_seq: number;
  readonly error: string | null;
}

/** An event that an endpoint should have and has not. */
export interface Undelivered {
  readonly seq: number;
  readonly event_id: string;
  readonly event: string;
  readonly reason: 'pending' | 'failed' | 'never_sent';
  readonly delivery_id: string | null;
}

export class Operator {
  constructor(
    readonly orgId: OrgId,
    readonly api: ApiClient,
  ) {}

  /** Submits events, all in one request. @returns their ids */
  emit(...events: readonly Submission[]): Promise<readonly string[]> {
    return this.api.emit(events);
  }

  register(body: object): Promise<EndpointWithSecret> {
    return this.#data('POST', '/external/webhooks', 201, body);
  }

  endpoint(id: string): Promise<Endpoint & { readonly health: EndpointHealth }> {
    return this.#data('GET', `/external/webhooks/${id}`, 200);
  }

  endpoints(): Promise<readonly Endpoint[]> {
    return this.#data('GET', '/external/webhooks', 200);
  }

  change(id: string, changes: object): Promise<Endpoint> {
    return this.#data('PATCH', `/external/webhooks/${id}`, 200, changes);
  }

  async remove(id: string): Promise<void> {
    await this.#ask('DELETE', `/external/webhooks/${id}`, 204);
  }

  rotateSecret(id: string, body?: object): Promise<EndpointWithSecret> {
    return this.#data('POST', `/external/webhooks/${id}/rotate-secret`, 200, body);
  }

  async endOverlap(id: string): Promise<void> {
    await this.#ask('DELETE', `/external/webhooks/${id}/previous-secret`, 204);
  }

  /** Sends a test event. The api answers without a seq if the delivery log lags by 5 s, and then this waits for it. */
  async test(id: string): Promise<Delivery> {
    type Answered = Omit<Delivery, 'seq'> & { readonly seq: number | null };
    const answer = await this.#data<Answered>('POST', `/external/webhooks/${id}/test`, 202);
    if (answer.seq !== null) return { ...answer, seq: answer.seq };
    const { seq, created_at } = await eventually(() => this.delivery(id, answer.id));
    return { ...answer, seq, created_at };
  }

  /** One page of the delivery log, without its leading `?`. */
  async deliveryPage(id: string, query = ''): Promise<DeliveryPage> {
    const answer = await this.#ask('GET', `/external/webhooks/${id}/deliveries?${query}`, 200);
    return JSON.parse(answer.text) as DeliveryPage;
  }

  /** The newest 250 deliveries, in the order of their seqs. */
  async deliveries(id: string): Promise<readonly Delivery[]> {
    const { data } = await this.deliveryPage(id, 'limit=250');
    return data.toSorted((a, b) => a.seq - b.seq);
  }

  /** When the attempts of its deliveries began, in epoch milliseconds. */
  async attemptTimes(id: string): Promise<readonly number[]> {
    const times: number[] = [];
    for (const delivery of await this.deliveries(id)) {
      const { attempts_log } = await this.delivery(id, delivery.id);
      times.push(...attempts_log.map(({ at }) => Date.parse(at)));
    }
    return times.toSorted((one, other) => one - other);
  }

  /** All of it, in pages of this size. */
  async undelivered(id: string, limit = 250): Promise<readonly Undelivered[]> {
    const all: Undelivered[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const path = `/external/webhooks/${id}/undelivered?limit=${limit}&cursor=${cursor}`;
      const { text } = await this.#ask('GET', path, 200);
      const page = JSON.parse(text) as { readonly data: readonly Undelivered[]; readonly next_cursor: string | null };
      all.push(...page.data);
      cursor = page.next_cursor;
    }
    return all;
  }

  delivery(id: string, deliveryId: string): Promise<WholeDelivery> {
    return this.#data('GET', `/external/webhooks/${id}/deliveries/${deliveryId}`, 200);
  }

  /** The same as it was sent. */
  async deliveryText(id: string, deliveryId: string): Promise<string> {
    return (await this.#ask('GET', `/external/webhooks/${id}/deliveries/${deliveryId}`, 200)).text;
  }

  replay(id: string, deliveryId: string): Promise<Delivery> {
    return this.#data('POST', `/external/webhooks/${id}/deliveries/${deliveryId}/replay`, 202);
  }

  skip(id: string, deliveryId: string): Promise<Delivery> {
    return this.#data('POST', `/external/webhooks/${id}/deliveries/${deliveryId}/skip`, 202);
  }

  async recover(id: string, body: object): Promise<{ readonly matched: number; readonly scheduled: number }> {
    const { matched, scheduled } = await this.beginRecovery(id, body);
    return { matched, scheduled };
  }

  beginRecovery(id: string, body: object): Promise<BegunRecovery> {
    return this.#data('POST', `/external/webhooks/${id}/recover`, 202, body);
  }

  recoveries(id: string): Promise<readonly Recovery[]> {
    return this.#data('GET', `/external/webhooks/${id}/recoveries`, 200);
  }

  recovery(id: string, recoveryId: string): Promise<Recovery> {
    return this.#data('GET', `/external/webhooks/${id}/recoveries/${recoveryId}`, 200);
  }

  stopRecovery(id: string, recoveryId: string): Promise<Recovery> {
    return this.#data('DELETE', `/external/webhooks/${id}/recoveries/${recoveryId}`, 200);
  }

  /** What the api says to a request that it does not accept. */
  async refusal(method: string, path: string, body?: object): Promise<Refusal> {
    const answer = await this.api.request(method, path, body === undefined ? undefined : JSON.stringify(body));
    if (answer.status < 400) throw new Error(`${method} ${path} was accepted: ${answer.status} ${answer.text}`);
    return JSON.parse(answer.text) as Refusal;
  }

  async #data<T>(method: string, path: string, status: number, body?: object): Promise<T> {
    return (JSON.parse((await this.#ask(method, path, status, body)).text) as { data: T }).data;
  }

  /** A read that is answered 503 is repeated: a busy machine may take longer for a query than the api waits. */
  async #ask(method: string, path: string, status: number, body?: object): Promise<Answer> {
    const ask = async () => {
      const answer = await this.api.request(method, path, body === undefined ? undefined : JSON.stringify(body));
      if (method === 'GET' && answer.status === 503)
        throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
      return answer;
    };
    const answer = method === 'GET' ? await eventually(ask) : await ask();
    if (answer.status !== status) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return answer;
  }
}
