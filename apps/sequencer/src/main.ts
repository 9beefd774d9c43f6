import { runGaplessApp } from '#libs/platform';
import { SequencerModule } from './sequencer.module.js';

await runGaplessApp({ name: 'sequencer', modules: [SequencerModule], defaultPort: 3001 });
