import { setTimeout as delay } from 'node:timers/promises';
import { Command, InvalidArgumentError } from 'commander';
import type { Environment } from '#libs/runtime';
import { GaplessClient, refusal, type Answer } from './gapless-client.js';
import { readTailPage, tailLine } from './tail-page.js';

const PAGE = 1_000;
const WAIT_SECONDS = 25;
const POLL_MS = 1_000;

interface TailFlags {
  readonly since?: number;
  readonly json?: boolean;
  readonly follow: boolean;
}

/** `tail`: reads the feed of the demo org (spec 4.2), and goes on as events come. */
export function tailCommand(
  context: { readonly print: (line: string) => void },
  environment: Environment = process.env,
): Command {
  return new Command('tail')
    .description('read the feed of the Gapless that npm start runs here, and follow it until Ctrl-C')
    .option('--since <seq>', 'begin behind this; at the newest event, if left out', readSeq)
    .option('--no-follow', 'end when there are no more events')
    .option('--json', 'print the envelopes as they are, one per line')
    .action(async (flags: TailFlags) => {
      const feed = new Feed(await GaplessClient.connect(environment));
      const printed = flags.json === true ? (envelope: string) => envelope : tailLine;
      let since = flags.since ?? (await feed.head());
      if (flags.json !== true) context.print(`Events behind #${since}:`);
      for (;;) {
        const { envelopes, isCaughtUp, lastSeq } = readTailPage(await feed.page(since, flags.follow));
        for (const envelope of envelopes) context.print(printed(envelope));
        since = lastSeq ?? since;
        if (isCaughtUp && !flags.follow) return;
        if (isCaughtUp && !feed.canWait) await delay(POLL_MS);
      }
    });
}

class Feed {
  /** Whether the server holds a request until there are events. */
  canWait = true;

  constructor(private readonly client: GaplessClient) {}

  /** The seq of the newest event; 0 without any. */
  async head(): Promise<number> {
    const answer = await this.client.get('/external/events?limit=1');
    if (answer.status !== 200) throw refusal(answer);
    return Number(answer.headers['x-head-sequence'] ?? 0);
  }

  /** The text of the page behind `since`. @param wait hold the request until there is an event, if the server can */
  async page(since: number, wait: boolean): Promise<string> {
    const path = `/external/events?limit=${PAGE}&since=${since}`;
    const waits = wait && this.canWait;
    const answer = await this.client.get(
      waits ? `${path}&wait=${WAIT_SECONDS}` : path,
      waits ? WAIT_SECONDS * 1_000 : 0,
    );
    if (answer.status === 200) return answer.text;
    if (!waits || !refusesToWait(answer)) throw refusal(answer);
    this.canWait = false;
    return this.page(since, wait);
  }
}

function refusesToWait({ status, text }: Answer): boolean {
  return status === 422 && text.includes('wait');
}

function readSeq(text: string): number {
  const seq = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(seq)) return seq;
  throw new InvalidArgumentError('expected the seq of an event, or 0');
}
