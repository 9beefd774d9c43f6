import { runGaplessApp } from '#libs/platform';
import { STAGES } from '#libs/runtime';
import { SequencerModule } from './sequencer.module.js';

await runGaplessApp({ name: 'sequencer', modules: [SequencerModule], defaultPort: STAGES.sequencer.port });
