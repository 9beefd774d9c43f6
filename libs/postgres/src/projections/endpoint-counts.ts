import type { Store } from '../connection/store.js';

/** Whether an endpoint receives events, and if not, why. */
export type EndpointState = 'active' | 'disabled_by_failures' | 'disabled_by_operator';

/** Counts the registered endpoints of all orgs. */
export class EndpointCounts {
  constructor(private readonly store: Store) {}

  async read(): Promise<Readonly<Record<EndpointState, number>>> {
    const [row] = await this.store.prepared<Readonly<Record<EndpointState, number>>>(
      'count_endpoints',
      `select (count(*) filter (where is_active))::int as active,
         (count(*) filter (where not is_active and disabled_reason <> 'operator'))::int as disabled_by_failures,
         (count(*) filter (where not is_active and disabled_reason = 'operator'))::int as disabled_by_operator
       from endpoints where kind = 'webhook'`,
      [],
    );
    return row ?? { active: 0, disabled_by_failures: 0, disabled_by_operator: 0 };
  }
}
