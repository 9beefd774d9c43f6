import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { ProjectorModule } from './projector.module.js';

await runGaplessApp({ name: 'projector', modules: [ProjectorModule], defaultPort: STAGES.projector.port });
