import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { AlertingModule } from './alerting.module.js';

await runGaplessApp({ name: 'alerting', modules: [AlertingModule], defaultPort: STAGES.alerting.port });
