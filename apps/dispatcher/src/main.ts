import { runGaplessApp } from '#libs/platform';
import { DispatcherModule } from './dispatcher.module.js';

await runGaplessApp({ name: 'dispatcher', modules: [DispatcherModule], defaultPort: 3003 });
