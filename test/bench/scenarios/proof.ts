import type { Bench } from '../bench.js';
import { figure, type Figure } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';
import { gaplessCommand, type CommandCost } from '../system/gapless-command.js';

const EVENTS = 1_000_000;
const REQUEST_EVENTS = 500;
/** Each holds half a megabyte on its way. */
const CONNECTIONS = 4;
/** So many at a time, then they are waited for: what the projector is behind stays small. */
const SLICE = 100_000;

export const proof: Scenario = {
  name: 'proof',
  description: '1,000,000 events ingested, then verified, then rebuilt while the service runs',
  limitMs: 1_800_000,
  async run(bench) {
    const gapless = await bench.ownGapless();
    for (let sent = SLICE; sent <= EVENTS; sent += SLICE) {
      bench.print(`ingesting ${sent.toLocaleString('en-US')} events`);
      await bench.load.publish({
        baseUrl: gapless.credentials.base_url,
        apiKey: gapless.credentials.api_key,
        event: 'ticket.created',
        orgIds: [],
        eventsEachRequest: REQUEST_EVENTS,
        connections: CONNECTIONS,
        pace: { kind: 'burst', requests: SLICE / REQUEST_EVENTS },
      });
      await bench.api(gapless).untilHead(sent);
    }
    const run = (...args: readonly string[]) => told(bench, args, () => gaplessCommand(gapless, args, bench.signal));
    const verified = await run('verify', '--json');
    const rebuilt = await run('rebuild', '--json');
    return [...figuresOf('verify', verified), ...figuresOf('rebuild', rebuilt)];
  },
};

async function told(bench: Bench, args: readonly string[], act: () => Promise<CommandCost>): Promise<CommandCost> {
  bench.print(`gapless ${args.join(' ')}`);
  return act();
}

function figuresOf(name: string, { seconds, peakMB }: CommandCost): readonly Figure[] {
  return [
    figure(name, seconds, 's'),
    figure(name, EVENTS / seconds, 'events/s'),
    figure(`${name}: resident memory, peak`, peakMB, 'MB'),
  ];
}
