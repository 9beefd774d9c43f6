import type { GaplessAppOptions } from '#libs/platform';
import { createApiAdapter } from './api-adapter.js';
import { configureApi } from './configure-api.js';

/** What a process with the `ApiModule` gives to `startGaplessApp`. */
export const apiHttp = { adapter: createApiAdapter, configure: configureApi } satisfies GaplessAppOptions['http'];
