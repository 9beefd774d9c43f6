import type { Network } from '../engine/network.js';
import type { Trace } from '../engine/trace.js';
import { Actor, type VirtualTime } from '../engine/virtual-time.js';
import { meaningOf, type Domain } from './statements.js';
import { Tables, type Undo } from './tables.js';

/** As `Store` has it. */
const QUERY_TIMEOUT_MS = 10_000;
/** As the longest of them has it. */
const IDLE_TRANSACTION_MS = 60_000;

/** A transaction of a client, and what it holds the locks of. */
interface Session {
  readonly client: Actor;
  readonly undo: Undo[];
  /** What it has written that only it can see, to be done when it commits. */
  readonly unseen: (() => unknown[])[];
  readonly held: Set<Domain>;
  isOpen: boolean;
}

interface PostgresDependencies {
  readonly time: VirtualTime;
  readonly network: Network;
  readonly trace: Trace;
  /** Is called for a statement that the simulation does not know. */
  readonly onUnknown: (error: Error) => void;
}

export function connectionLost(): Error {
  return Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' });
}

/**
 * Postgres, as far as the stages can see: statements that are carried out whole or not at all, transactions that hold
 * back others of the same tables, and connections that break.
 */
export class Postgres {
  readonly actor = new Actor('postgres');
  readonly tables = new Tables();
  isUp = true;
  /** The projection whose statements wait for a lock, by its name, topic and partition. */
  #blocked: readonly unknown[] | null = null;
  #blockedStatements: (() => void)[] = [];
  readonly #sessions = new Set<Session>();
  /** Who waits for the tables of a domain that a transaction has changed. */
  readonly #waiting: { readonly domain: Domain; readonly go: () => void }[] = [];

  constructor(private readonly use: PostgresDependencies) {}

  /** A statement on its own. */
  query(sql: string, parameters: readonly unknown[]): Promise<unknown[]> {
    const meaning = this.#meaningOf(sql);
    const act = () => meaning.act(this.tables, parameters);
    return this.#request(meaning.name, meaning.domain, undefined, act, () => this.#isBlocked(meaning.name, parameters));
  }

  /** Has the projection of one partition wait. */
  block(projection: string, topic: string, partition: number): void {
    this.#blocked = [projection, topic, partition];
  }

  unblock(): void {
    this.#blocked = null;
    for (const go of this.#blockedStatements.splice(0)) go();
  }

  async transaction<T>(
    act: (query: (sql: string, parameters?: readonly unknown[]) => Promise<unknown[]>) => Promise<T>,
  ) {
    const session: Session = { client: this.use.time.current, undo: [], unseen: [], held: new Set(), isOpen: true };
    this.#sessions.add(session);
    try {
      const result = await act((sql, parameters = []) => {
        const meaning = this.#meaningOf(sql);
        return this.#request(meaning.name, meaning.domain, session, () =>
          this.#inSession(session, meaning.isSeenWhenCommitted, () => meaning.act(this.tables, parameters)),
        );
      });
      if (session.held.size > 0) {
        await this.#request('commit', null, session, () => {
          for (const write of session.unseen.splice(0)) write();
          session.undo.length = 0;
          this.#end(session);
          return [];
        });
      }
      return result;
    } finally {
      // A rollback, or a connection that is given back.
      this.#end(session);
    }
  }

  /** All sessions end, and with them what was not committed. */
  crash(): void {
    this.isUp = false;
    for (const session of [...this.#sessions]) this.#end(session);
    this.#waiting.length = 0;
    this.#blockedStatements.length = 0;
    this.use.network.break(this.actor, connectionLost);
  }

  start(): void {
    this.isUp = true;
  }

  /** The connections of a process that died. */
  forget(client: Actor): void {
    for (const session of [...this.#sessions]) if (session.client === client) this.#end(session);
  }

  /** The history is worth nothing without it: stages would take the error for one of Postgres, and try again for ever. */
  #meaningOf(sql: string): ReturnType<typeof meaningOf> {
    try {
      return meaningOf(sql);
    } catch (error) {
      this.use.onUnknown(error as Error);
      throw error;
    }
  }

  #request(
    name: string,
    domain: Domain | null,
    session: Session | undefined,
    act: () => unknown[],
    isBlocked: () => boolean = () => false,
  ): Promise<unknown[]> {
    const options = { timeoutMs: QUERY_TIMEOUT_MS, broken: connectionLost };
    return this.use.network.request<unknown[]>(this.actor, `sql ${name}`, options, (answer) => {
      if (!this.isUp) {
        answer.reject(Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' }));
        return;
      }
      const go = () => {
        if (session !== undefined && !session.isOpen) {
          answer.reject(connectionLost());
          return;
        }
        if (session !== undefined && domain !== null) this.#hold(session, domain);
        try {
          answer.resolve(act());
        } catch (error) {
          answer.reject(error instanceof Error ? error : new Error(String(error)));
        }
      };
      if (isBlocked()) this.#blockedStatements.push(go);
      else if (domain !== null && this.#isHeld(domain, session)) this.#waiting.push({ domain, go });
      else go();
    });
  }

  /** The parameters of a projection begin with what it is of. */
  #isBlocked(name: string, parameters: readonly unknown[]): boolean {
    return name === 'apply feed' && this.#blocked?.every((value, place) => parameters[place] === value) === true;
  }

  #inSession(session: Session, isUnseen: boolean, act: () => unknown[]): unknown[] {
    const { unseen } = session;
    if (!isUnseen && unseen.length === 0) return this.tables.recording(session.undo, act);
    const undo: Undo[] = [];
    const found = this.tables.recording(undo, () => {
      for (const write of unseen) write();
      return act();
    });
    this.tables.undo(undo);
    unseen.push(act);
    return found;
  }

  #isHeld(domain: Domain, besides: Session | undefined): boolean {
    return [...this.#sessions].some((session) => session !== besides && session.held.has(domain));
  }

  #hold(session: Session, domain: Domain): void {
    if (session.held.size === 0) {
      this.use.time.schedule(IDLE_TRANSACTION_MS, this.actor, () => {
        if (session.isOpen) this.use.trace.note(`ends a transaction of ${session.client.name} that has been idle`);
        this.#end(session);
      });
    }
    session.held.add(domain);
  }

  #end(session: Session): void {
    if (!session.isOpen) return;
    session.isOpen = false;
    this.#sessions.delete(session);
    this.tables.undo(session.undo);
    for (const waiting of [...this.#waiting]) {
      if (this.#isHeld(waiting.domain, undefined)) continue;
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.go();
    }
  }
}
