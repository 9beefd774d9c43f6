import type { EndpointId } from '#libs/domain';
import { Store, type StoreOptions } from '../../connection/store.js';

/** The schema where projections are built. */
export const SHADOW = 'gapless_shadow';

export type ShadowStoreOptions = Omit<StoreOptions, 'shadowSchema' | 'migratesWhenOpened'>;

/** The tables of a shadow, for a thread that folds into them. Others can do so at the same time. */
export class ShadowTables {
  readonly store: Store;
  readonly #noted = new Set<EndpointId>();

  /** @param makesThem whether opening the store makes the tables; if not, another thread has */
  constructor(options: ShadowStoreOptions, makesThem = false) {
    this.store = new Store({ ...options, migratesWhenOpened: makesThem, shadowSchema: SHADOW });
  }

  /** Notes endpoints whose deliveries the shadow is about to hold. */
  async note(endpoints: readonly EndpointId[]): Promise<void> {
    const fresh = [...new Set(endpoints)].filter((id) => !this.#noted.has(id));
    if (fresh.length === 0) return;
    await this.store.query(`insert into ${SHADOW}.rebuild_endpoints select unnest($1::text[]) on conflict do nothing`, [
      fresh,
    ]);
    for (const id of fresh) this.#noted.add(id);
  }
}
