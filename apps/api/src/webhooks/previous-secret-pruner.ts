import { Inject, Injectable } from '@nestjs/common';
import type { Clock } from '#libs/domain';
import { EndpointRecords, SigningKeys } from '#libs/postgres';
import { CLOCK, LOGGER, RegularWork } from '#libs/platform';
import type { Logger } from '#libs/runtime';

const EVERY_MS = 60 * 1_000;

/** Deletes secrets and signing keys whose overlap is over. Every process may do so. */
@Injectable()
export class PreviousSecretPruner extends RegularWork {
  constructor(
    private readonly endpoints: EndpointRecords,
    private readonly signingKeys: SigningKeys,
    @Inject(CLOCK) private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    super({ everyMs: EVERY_MS });
  }

  protected async act(): Promise<undefined> {
    const secrets = await this.endpoints.forgetPreviousSecrets(new Date(this.clock.now()));
    const pruned = secrets + (await this.signingKeys.forget());
    if (pruned > 0) this.logger.info({ pruned }, 'secrets.pruned');
  }

  protected failed(error: unknown): void {
    this.logger.warn({ err: error }, 'secrets.not_pruned');
  }
}
