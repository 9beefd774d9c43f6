import type { Bench } from '../bench.js';
import { figure, type Figure } from '../figures/figure.js';
import type { Scenario } from '../scenario.js';
import { gaplessCommand, type CommandCost } from '../system/gapless-command.js';
import { createOrgs } from '../system/org-keys.js';

const EVENTS = 1_000_000;
const REQUEST_EVENTS = 500;
/** Each holds half a megabyte on its way. */
const CONNECTIONS = 4;
/** So many at a time, then they are waited for: what the projector is behind stays small. */
const SLICE = 100_000;

/** @param orgs that have the events in turn; with one it is the demo org, and so one partition */
function proofOf(orgs: number): Scenario['run'] {
  return async (bench) => {
    const gapless = await bench.ownGapless();
    const { base_url: baseUrl, database_url: databaseUrl, service_key: serviceKey } = gapless.credentials;
    const keys = orgs === 1 ? [] : await createOrgs(databaseUrl, orgs);
    const apis = orgs === 1 ? [bench.api(gapless)] : keys.map(({ apiKey }) => bench.api(gapless, apiKey));
    for (let sent = SLICE; sent <= EVENTS; sent += SLICE) {
      bench.print(`ingesting ${sent.toLocaleString('en-US')} events`);
      await bench.load.publish({
        baseUrl,
        apiKey: orgs === 1 ? gapless.credentials.api_key : serviceKey,
        event: 'ticket.created',
        orgIds: keys.map(({ orgId }) => orgId),
        eventsEachRequest: REQUEST_EVENTS,
        connections: CONNECTIONS,
        pace: { kind: 'burst', requests: SLICE / REQUEST_EVENTS },
      });
      for (const api of apis) await api.untilHead(sent / orgs);
    }
    const run = (...args: readonly string[]) => told(bench, args, () => gaplessCommand(gapless, args, bench.signal));
    const verified = await run('verify', '--json');
    const rebuilt = await run('rebuild', '--json');
    return [...figuresOf('verify', verified), ...figuresOf('rebuild', rebuilt)];
  };
}

const LIMIT_MS = 1_800_000;

export const proof: readonly Scenario[] = [
  {
    name: 'proof',
    description: '1,000,000 events ingested, then verified, then rebuilt while the service runs',
    limitMs: LIMIT_MS,
    run: proofOf(1),
  },
  { name: 'proof-orgs', description: 'the same over 50 orgs', limitMs: LIMIT_MS, run: proofOf(50) },
];

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
