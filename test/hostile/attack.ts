import type { OrgKey } from '../bench/system/org-keys.js';
import type { ApiClient } from '../support/api-client.js';
import type { RawProducer } from '../support/raw-producer.js';

/** What an attacker has: a key of an organization, and, if it is a service of the product, the inbox. */
export interface Attacker extends OrgKey {
  readonly baseUrl: string;
  readonly client: ApiClient;
  /** With the key of a service of the product. */
  readonly service: ApiClient;
  readonly serviceKey: string;
  readonly brokers: string;
  readonly inbox: {
    readonly topic: string;
    readonly partitions: number;
    /** Of the org. */
    readonly partition: number;
    readonly producer: RawProducer;
  };
  /** Is called when everything is over. */
  readonly afterwards: (tidy: () => Promise<void> | void) => void;
  /** Makes the run fail, with these words. */
  readonly complain: (problem: string) => void;
}

/** The longest that 99 of 100 events of the neighbour may take, milliseconds, and by how much the process may grow. */
interface Limits {
  readonly acknowledgedP99Ms?: number;
  readonly pushedP99Ms?: number;
  readonly growthMiB?: number;
}

/** Something that a hostile client or a broken service does. */
export interface Attack {
  readonly name: string;
  /** One line for the help. */
  readonly description: string;
  /** Whether the neighbour has to be pushed within 5 s even so, as with each record of the inbox. */
  readonly isPoison?: boolean;
  readonly limits?: Limits;
  /** Makes what the attack needs, before the process is looked at. */
  prepare?(attacker: Attacker): Promise<void>;
  /** @returns what came of it for the attacker, in a few words */
  strike(attacker: Attacker): Promise<string>;
}
