import { runGaplessApp } from '#libs/platform';
import { AlertingModule } from './alerting.module.js';

await runGaplessApp({ name: 'alerting', modules: [AlertingModule], defaultPort: 3005 });
