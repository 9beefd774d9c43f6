import type { GaplessAppOptions } from '#libs/platform';
import { createApiAdapter } from './api-adapter.js';
import { configureApi } from './configure-api.js';

/** The options of `startGaplessApp` for a process with the `ApiModule`. */
export const apiHttp = { adapter: createApiAdapter, configure: configureApi } satisfies GaplessAppOptions['http'];
