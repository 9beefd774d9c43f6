import { Command, InvalidArgumentError, type CommanderError } from 'commander';
import { messageOf, parseOrgId, SEQ_NONE, seqFromText, type Clock, type OrgId, type Seq } from '#libs/domain';
import { expiredBefore } from '#libs/postgres';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { withInstallation } from '../installation.js';
import { Differences } from './difference.js';
import { terminalProgress, type Progress } from './progress.js';
import { verifyDeliveries } from './verify-deliveries.js';
import { verifyFeed } from './verify-feed.js';
import { verifyJson, verifyLines, type VerifyReport } from './verify-report.js';

interface VerifyFlags {
  readonly org?: OrgId;
  readonly from?: Seq;
  readonly feedOnly?: boolean;
  readonly json?: boolean;
  readonly wait: number;
}

const NOT_VERIFIED = 2;

const HELP = `
Reads the log up to its current end, waits for the projections to reach it, and compares:
each organization's seqs (1, 2, 3 … without a gap), event ids, each event's bytes in the feed by their SHA-256, and the delivery
log with a fold of the delivery facts. It changes nothing, and the service may run meanwhile. It skips events older than RETENTION.
Use the RETENTION, AUTO_DISABLE_AFTER and TOPIC_PREFIX of the service.

Exit status: 0 no difference, 1 a difference, 2 not verified.`;

/** `verify`: checks that the log has no gaps, and that the feed and the delivery log match it. */
export function verifyCommand(
  context: { readonly clock: Clock; readonly print: (line: string) => void; readonly progress?: Progress },
  environment: Environment = process.env,
): Command {
  return new Command('verify')
    .description('compare the feed and the delivery log with Kafka, and look for gaps and repeats')
    .option('--org <uuid>', 'only this organization', readOrg)
    .option('--from <seq>', 'only events with this seq or a later one', readSeq)
    .option('--feed-only', 'only the log and the feed, not the delivery log')
    .option('--wait <seconds>', 'how long to wait for the projections to reach the end of the log', readSeconds, 60)
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .exitOverride(exitOnUsage)
    .action(async (flags: VerifyFlags) => {
      const report = await verify(flags, context.clock, context.progress ?? terminalProgress(), environment);
      const lines = flags.json === true ? [verifyJson(report)] : verifyLines(report);
      for (const line of lines) context.print(line);
      const { count } = report.differences;
      if (count > 0) throw new CliError(`${count} ${count === 1 ? 'difference' : 'differences'}`);
    });
}

/** Ends the process after the help or a wrong option, which is no difference. */
function exitOnUsage({ exitCode }: CommanderError): never {
  process.exit(exitCode === 0 ? 0 : NOT_VERIFIED);
}

async function verify(
  flags: VerifyFlags,
  clock: Clock,
  progress: Progress,
  environment: Environment,
): Promise<VerifyReport> {
  const differences = new Differences();
  try {
    return await withInstallation(environment, async (installation) => {
      const scope = {
        orgId: flags.org ?? null,
        from: flags.from ?? SEQ_NONE,
        // A day may end meanwhile.
        get sinceMs() {
          return expiredBefore(clock.now(), installation.config.retentionMs);
        },
        patienceMs: flags.wait * 1_000,
      };
      const feed = await verifyFeed(installation, scope, differences, progress);
      const deliveries =
        flags.feedOnly === true ? null : await verifyDeliveries(installation, scope, differences, progress);
      return { feed, deliveries, differences };
    });
  } catch (error) {
    throw new CliError(notVerified(error, differences), NOT_VERIFIED);
  }
}

/** Names the differences that were found before it failed: they may be what the operator is looking for. */
export function notVerified(error: unknown, differences: Differences): string {
  const reason = `not verified: ${messageOf(error)}`;
  return differences.count === 0 ? reason : [reason, 'Differences until then:', ...differences.lines()].join('\n');
}

function readOrg(text: string): OrgId {
  const orgId = parseOrgId(text);
  if (orgId === undefined) throw new InvalidArgumentError('expected a UUID');
  return orgId;
}

function readSeq(text: string): Seq {
  try {
    return seqFromText(text);
  } catch {
    throw new InvalidArgumentError('expected the seq of an event');
  }
}

function readSeconds(text: string): number {
  if (/^\d{1,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a number of seconds');
}
