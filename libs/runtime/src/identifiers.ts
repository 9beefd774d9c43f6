import { monotonicFactory } from 'ulid';
import type { ApiKeyId, Clock, EndpointId, EventId, PortalSessionId, RecoveryId } from '#libs/domain';
import { RandomPool } from './random-pool.js';

/** Makes time-ordered ids (contract 2.1): a prefix and a ULID. */
export class Identifiers {
  readonly #ulid = monotonicFactory(new RandomPool().next);
  constructor(private readonly clock: Clock) {}

  eventId(): EventId {
    return `evt_${this.#ulid(this.clock.now())}` as EventId;
  }

  endpointId(): EndpointId {
    return `whe_${this.#ulid(this.clock.now())}` as EndpointId;
  }

  recoveryId(): RecoveryId {
    return `rec_${this.#ulid(this.clock.now())}` as RecoveryId;
  }

  apiKeyId(): ApiKeyId {
    return `gk_${this.#ulid(this.clock.now())}` as ApiKeyId;
  }

  portalSessionId(): PortalSessionId {
    return `gps_${this.#ulid(this.clock.now())}` as PortalSessionId;
  }
}
