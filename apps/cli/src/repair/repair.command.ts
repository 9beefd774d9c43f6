import { Command } from 'commander';
import type { Environment } from '#libs/runtime';
import { alone } from '../alone.js';
import { CliError } from '../cli-error.js';
import { withInstallation, type Installation } from '../installation.js';
import { terminalProgress, type Progress } from '../verify/progress.js';
import { refuseRunning } from './group-places.js';
import { adopt, adoptionLines } from './adopt.js';
import { applyRepair } from './apply-repair.js';
import { planRepair, type RepairPlan } from './repair-plan.js';
import { isSound, repairJson, repairLines } from './repair-report.js';

interface RepairFlags {
  readonly apply?: boolean;
  readonly json?: boolean;
}

const HELP = `
Repairs partitions that stopped because their topic went back. Without --apply it changes nothing. It
  - puts lost log events back from Postgres, with the same bytes and seqs;
  - moves the sequencer to the first inbox event that the log lacks;
  - writes the last seqs again if the checkpoint is lost and the log begins later;
  - moves group offsets that point to lost records.
Stop all processes before --apply. Then start them and run verify.
If feed and log hold different events with the same seq, run "rebuild --from-empty". It takes those of the log.`;

const ADOPT_HELP = `
Use it if the database is new or restored, or if the brokers lost their topics.
If the brokers belong to an installation, the database gets the same one.`;

/** `repair`: repairs an installation whose topics or database went back, were replaced, or grew. */
export function repairCommand(
  context: { readonly print: (line: string) => void; readonly progress?: Progress },
  environment: Environment = process.env,
): Command {
  return new Command('repair')
    .description('show what Kafka or Postgres lost, and repair it with --apply')
    .option('--apply', 'make the changes; without it, only show them')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: RepairFlags) => {
      const isApplied = flags.apply === true;
      const progress = context.progress ?? terminalProgress();
      const plan = await withInstallation(environment, (installation) =>
        isApplied
          ? alone(installation.store, (lost) => planAndApply(installation, progress, lost))
          : planRepair(installation, progress),
      );
      const lines = flags.json === true ? [repairJson(plan, isApplied)] : repairLines(plan, isApplied);
      for (const line of lines) context.print(line);
    })
    .addCommand(
      new Command('adopt')
        .description('connect this database to these brokers')
        .option('--apply', 'make the changes; without it, only show them')
        .addHelpText('after', ADOPT_HELP)
        .action(async (_: RepairFlags, command: Command) => {
          // The parent has the same option, and gets its value wherever it is given.
          const isApplied = command.optsWithGlobals<RepairFlags>().apply === true;
          const adoption = await withInstallation(environment, (installation) => adopt(installation, isApplied), {
            placesAreChecked: false,
            migrates: isApplied,
          });
          for (const line of adoptionLines(adoption, isApplied)) context.print(line);
        }),
    );
}

/** @returns the plan, which was executed @throws CliError when it cannot be */
async function planAndApply(installation: Installation, progress: Progress, lost: AbortSignal): Promise<RepairPlan> {
  const plan = await planRepair(installation, progress);
  if (isSound(plan)) return plan;
  refuseRunning(plan.running);
  const unread = plan.partitions.filter((partition) => partition.unread > 0);
  if (unread.length > 0) {
    const names = unread.map(({ partition }) => `${installation.topics.log}/${partition}`).join(', ');
    throw new CliError(
      `${names} lost records that neither Postgres nor the checkpoint has, so seqs would repeat. Restore ${installation.topics.sequences} or a newer database`,
    );
  }
  lost.throwIfAborted();
  await applyRepair(installation, plan);
  return plan;
}
