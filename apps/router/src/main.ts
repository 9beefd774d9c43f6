import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { RouterModule } from './router.module.js';

await runGaplessApp({ name: 'router', modules: [RouterModule], defaultPort: STAGES.router.port });
