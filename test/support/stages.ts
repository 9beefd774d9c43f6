import type { Type } from '@nestjs/common';
import type { GaplessAppOptions } from '#libs/platform';
import type { StageName } from '#libs/runtime';
import { AlertingModule } from '../../apps/alerting/src/alerting.module.js';
import { ApiModule } from '../../apps/api/src/api.module.js';
import { apiHttp } from '../../apps/api/src/http/api-http.js';
import { DispatcherModule } from '../../apps/dispatcher/src/dispatcher.module.js';
import { ProjectorModule } from '../../apps/projector/src/projector.module.js';
import { SequencerModule } from '../../apps/sequencer/src/sequencer.module.js';

export const STAGE_MODULES: Readonly<Record<StageName, Type>> = {
  api: ApiModule,
  sequencer: SequencerModule,
  dispatcher: DispatcherModule,
  projector: ProjectorModule,
  alerting: AlertingModule,
};

export const ALL_STAGES: readonly Type[] = Object.values(STAGE_MODULES);

/** What a process with the api needs besides its module. */
export const API_HTTP: NonNullable<GaplessAppOptions['http']> = apiHttp;
