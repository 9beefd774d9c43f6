import { Command } from 'commander';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { withInstallation } from '../installation.js';
import { adopt, adoptionLines } from './adopt.js';
import { applyRepair } from './apply-repair.js';
import { planRepair } from './repair-plan.js';
import { isSound, repairJson, repairLines } from './repair-report.js';

interface RepairFlags {
  readonly apply?: boolean;
  readonly json?: boolean;
}

const HELP = `
For partitions that are stopped since their topic went back. Without --apply it reads everything and changes nothing. It
  - puts back into the log what Postgres has and the log has lost, with the same bytes and seqs;
  - lets the sequencer go on at the first event of the inbox that the log does not have;
  - writes the last seq of each org again where the checkpoint is lost and the log begins later;
  - moves the offsets of groups that point to records that are gone.
Stop all processes before --apply. Start them afterwards, then run verify.
Feed and log hold different events with the same seq? "rebuild --from-empty" takes those of the log.`;

const ADOPT_HELP = `
For a database that was restored or is new, beside brokers that have an installation; or for brokers that lost their topics.
What the brokers say counts, if they have an installation.`;

/** `repair`: the way out when a topic or the database is not what it was. */
export function repairCommand(
  context: { readonly print: (line: string) => void },
  environment: Environment = process.env,
): Command {
  return new Command('repair')
    .description('say what went back in Kafka or Postgres, and put it right with --apply')
    .option('--apply', 'do it; without it nothing changes')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: RepairFlags) => {
      const isApplied = flags.apply === true;
      const plan = await withInstallation(environment, async (installation) => {
        const found = await planRepair(installation);
        if (!isApplied || isSound(found)) return found;
        if (found.running.length > 0) {
          throw new CliError(
            `processes are running (${found.running.join(', ')}): stop all of them first; ended ones are forgotten after 10 s`,
          );
        }
        const unread = found.partitions.filter((partition) => partition.unread > 0);
        if (unread.length > 0) {
          const names = unread.map(({ partition }) => `${installation.topics.log}/${partition}`).join(', ');
          throw new CliError(
            `${names} lost records that Postgres had not read, and the checkpoint does not have their seqs: going on would give seqs twice. Restore ${installation.topics.sequences} or a newer database`,
          );
        }
        await applyRepair(installation, found);
        return found;
      });
      const lines = flags.json === true ? [repairJson(plan, isApplied)] : repairLines(plan, isApplied);
      for (const line of lines) context.print(line);
    })
    .addCommand(
      new Command('adopt')
        .description('let this database and these brokers belong together')
        .option('--apply', 'do it; without it nothing changes')
        .addHelpText('after', ADOPT_HELP)
        .action(async (_: RepairFlags, command: Command) => {
          // The parent has the same option, and takes it wherever it is.
          const isApplied = command.optsWithGlobals<RepairFlags>().apply === true;
          const adoption = await withInstallation(environment, (installation) => adopt(installation, isApplied));
          for (const line of adoptionLines(adoption, isApplied)) context.print(line);
        }),
    );
}
