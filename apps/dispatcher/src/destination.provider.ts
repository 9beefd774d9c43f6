import type { FactoryProvider } from '@nestjs/common';
import { Destinations } from '#libs/destinations';
import type { Destination } from '#libs/domain';
import { StageKit } from '#libs/platform';
import { HealthBoard } from '#libs/runtime';

export const DESTINATION = Symbol('Destination');

/** Provides the HTTP side of pushes. It is a provider of its own so that a simulation can replace it. */
export const destination: FactoryProvider<Destination> = {
  provide: DESTINATION,
  useFactory: ({ config, clock, logger, metrics }: StageKit, health: HealthBoard) =>
    new Destinations({ config, clock, logger, metrics, health }),
  inject: [StageKit, HealthBoard],
};
