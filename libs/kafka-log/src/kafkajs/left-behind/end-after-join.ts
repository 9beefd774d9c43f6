import { methodsOfKafkajs, wrap } from '../patching/patch.js';

/** kafkajs' loop of a consumer: it joins the group, and then fetches until it is stopped. */
interface Runner {
  readonly consumerGroup: {
    /** The broker of the group, which may no longer be one of the cluster's after a disconnect. */
    readonly coordinator: { connect(): Promise<void>; disconnect(): Promise<void> } | null;
    readonly cluster: { disconnect(): Promise<void> };
    /** Does nothing if the group does not know the member. */
    leave(): Promise<void>;
  };
  onCrash: (error: unknown) => Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Ends a consumer that is stopped during its first join, once that is over. kafkajs stops only what has joined: the
 * consumer would go on as a member whose partitions nobody handles. It changes kafkajs for the whole thread.
 */
export function endAfterJoin(): void {
  const methods = methodsOfKafkajs('consumer/runner.js') as Runner;
  const joins = new WeakMap<Runner, { isStopped: boolean }>();
  wrap(methods, 'start', (start) => {
    return async function (this: Runner) {
      const { onCrash } = this;
      const join = { isStopped: false };
      joins.set(this, join);
      this.onCrash = async (error) => {
        // kafkajs stops what has crashed, too, and may start it again.
        joins.delete(this);
        if (!join.isStopped) await onCrash(error);
      };
      await start.call(this);
      joins.delete(this);
      if (join.isStopped) await end(this);
    };
  });
  wrap(methods, 'stop', (stop) => {
    return async function (this: Runner) {
      const join = joins.get(this);
      if (join !== undefined) join.isStopped = true;
      await stop.call(this);
    };
  });
}

/** Leaves the group, and closes the connections that the join has opened again. */
async function end(runner: Runner): Promise<void> {
  await runner.stop();
  const { coordinator, cluster } = runner.consumerGroup;
  try {
    // For a join that failed after the group took the member. Without a login, brokers may refuse it.
    await coordinator?.connect();
    await runner.consumerGroup.leave();
  } catch {
    // The group drops the member once its session is over.
  }
  await Promise.all([coordinator?.disconnect(), cluster.disconnect()]);
}
