import { runGaplessApp } from '#libs/platform';
import { ApiModule } from './api.module.js';
import { apiHttp } from './http/api-http.js';

await runGaplessApp({ name: 'api', modules: [ApiModule], defaultPort: 3000, http: apiHttp });
