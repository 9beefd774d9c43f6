import { runGaplessApp } from '#libs/platform';
import { ProjectorModule } from './projector.module.js';

await runGaplessApp({ name: 'projector', modules: [ProjectorModule], defaultPort: 3004 });
