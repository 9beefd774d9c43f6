import type { Type } from '@nestjs/common';
import type { GaplessAppOptions } from '#libs/platform';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { apiHttp } from '../../apps/api/src/http/api-http.js';
import { DispatcherModule } from '../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { RouterModule } from '../../apps/router/src/router.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';

/** The stages that carry an event from HTTP to HTTP. */
export const ALL_STAGES: readonly Type[] = [
  ApiModule,
  SequencerModule,
  RouterModule,
  DispatcherModule,
  ProjectorModule,
];

/** What a process with the api needs besides its module. */
export const API_HTTP: NonNullable<GaplessAppOptions['http']> = apiHttp;
