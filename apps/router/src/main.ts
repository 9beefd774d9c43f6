import { runGaplessApp } from '#libs/platform';
import { RouterModule } from './router.module.js';

await runGaplessApp({ name: 'router', modules: [RouterModule], defaultPort: 3002 });
