import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { DispatcherModule } from './dispatcher.module.js';

await runGaplessApp({ name: 'dispatcher', modules: [DispatcherModule], defaultPort: STAGES.dispatcher.port });
