import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { ApiModule } from './api.module.js';
import { apiHttp } from './http/api-http.js';

await runGaplessApp({ name: 'api', modules: [ApiModule], defaultPort: STAGES.api.port, http: apiHttp });
