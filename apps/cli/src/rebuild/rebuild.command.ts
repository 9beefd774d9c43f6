import { Command } from 'commander';
import type { Clock } from '#libs/domain';
import { ShadowInUseError, TablesInUseError, type ProjectionName } from '#libs/postgres';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { withInstallation } from '../installation.js';
import { terminalProgress, type Progress } from '../verify/progress.js';
import { assignPlaces } from './assign-places.js';
import { rebuild, type RebuildReport } from './rebuild.js';

interface RebuildFlags {
  readonly deliveries?: boolean;
  readonly fromEmpty?: boolean;
  readonly assignPlaces?: boolean;
  readonly json?: boolean;
}

const HELP = `
Folds the log and the delivery facts into new tables while the service runs, compares both at the same offsets, and replaces the
old tables in one transaction. Endpoints, keys and settings stay as they are. Use the RETENTION, AUTO_DISABLE_AFTER and
TOPIC_PREFIX of the service.

--assign-places moves the feed: stop all processes, set PROJECTION_DATABASE_URLS, run it, then start them. It takes what
the log holds. It leaves the databases of an earlier list as they are: drop them once verify is content.`;

/** `rebuild`: rebuilds the feed and the delivery log from Kafka. */
export function rebuildCommand(
  context: { readonly clock: Clock; readonly print: (line: string) => void; readonly progress?: Progress },
  environment: Environment = process.env,
): Command {
  return new Command('rebuild')
    .description('rebuild the feed and the delivery log from Kafka, while the service runs')
    .option('--deliveries', 'only the delivery log and the health of endpoints')
    .option('--from-empty', 'do not compare with the old tables, because they are lost')
    .option('--assign-places', 'build the feed in the databases of PROJECTION_DATABASE_URLS, while nothing runs')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: RebuildFlags) => {
      const projections: readonly ProjectionName[] =
        flags.deliveries === true ? ['deliveries'] : ['feed', 'deliveries'];
      const request = { projections, fromEmpty: flags.fromEmpty === true, nowMs: context.clock.now() };
      const assigns = flags.assignPlaces === true;
      if (assigns && (flags.deliveries === true || flags.fromEmpty === true)) {
        throw new CliError('--assign-places goes with no other option but --json');
      }
      const progress = context.progress ?? terminalProgress();
      const report = await explained(
        withInstallation(
          environment,
          (installation) =>
            assigns ? assignPlaces(installation, request.nowMs, progress) : rebuild(installation, request, progress),
          { placesAreChecked: !assigns },
        ),
      );
      for (const line of flags.json === true ? [reportJson(report)] : reportLines(report)) context.print(line);
    });
}

/** Turns errors that pass by themselves into errors that are printed without a stack. */
async function explained<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof ShadowInUseError || error instanceof TablesInUseError) throw new CliError(error.message);
    throw error;
  }
}

function reportJson({ records, compared }: RebuildReport): string {
  return JSON.stringify({ records, tables: compared });
}

function reportLines({ records, compared }: RebuildReport): readonly string[] {
  const tables = (compared ?? []).map(({ table, rows, differing }) =>
    differing === 0
      ? `${table}: ${rows} rows, as they were`
      : `${table}: ${rows} rows, ${differing} of them not as they were`,
  );
  return [`${records} records folded`, ...tables, 'What was rebuilt is served now.'];
}
