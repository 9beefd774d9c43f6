import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import type { Clock } from '#libs/domain';
import { SecretCipher, ShadowInUseError, TablesInUseError, type ProjectionName } from '#libs/postgres';
import { databaseName, readSetting, SETTINGS, type Environment } from '#libs/runtime';
import { alone } from '../alone.js';
import { CliError } from '../cli-error.js';
import { withInstallation } from '../installation.js';
import { encryptionKeys } from '../secrets/encryption-keys.js';
import { terminalProgress, type Progress } from '../verify/progress.js';
import { assignPlaces } from './assign-places.js';
import { moveFeed, type MovedBefore, type MoveReport } from './move/move-feed.js';
import { rebuild, type RebuildReport } from './rebuild.js';

interface RebuildFlags {
  readonly deliveries?: boolean;
  readonly fromEmpty?: boolean;
  readonly assignPlaces?: boolean;
  readonly startOver?: boolean;
  readonly threads?: number;
  readonly to?: string;
  readonly toFile?: string;
  readonly json?: boolean;
}

/** More would only wait for Postgres. */
const MAX_THREADS = 64;

const HELP = `
Folds the log and the delivery facts into new tables while the service runs, compares both at the same offsets, and replaces the
old tables in one transaction. Events within retention that the log no longer has are kept, but not with --from-empty. Endpoints,
keys and settings stay as they are. Use the RETENTION, AUTO_DISABLE_AFTER and
TOPIC_PREFIX of the service. You can interrupt it at any time: the same command goes on where it was. Until then, its tables
take space in the schema gapless_shadow, which you can drop.

--to and --to-file move the feed to other databases while the service runs: they fold the log into them, compare each
organization, and change to them in a pause of about a second. List urls as in PROJECTION_DATABASE_URLS; in a file, one on
each line is fine, too. None may be part of the feed now. List DATABASE_URL alone to go back to one database. Use the
SECRET_ENCRYPTION_KEYS of the service. You can interrupt the command and run it again at any time.

--assign-places moves the feed while nothing runs: stop all processes, set PROJECTION_DATABASE_URLS, run it, then start them. It takes what
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
    .option('--start-over', 'start over, in place of going on with a rebuild that was interrupted')
    .option(
      '--threads <n>',
      `fold on so many threads, up to ${MAX_THREADS} (default: half the cores, if it is worth it)`,
      readThreads,
    )
    .option('--to <urls>', 'move the feed to these databases, comma-separated, while the service runs')
    .option('--to-file <path>', 'like --to, with the urls in a file')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async (flags: RebuildFlags) => {
      const projections: readonly ProjectionName[] =
        flags.deliveries === true ? ['deliveries'] : ['feed', 'deliveries'];
      const request = {
        projections,
        fromEmpty: flags.fromEmpty === true,
        startsOver: flags.startOver === true,
        threads: flags.threads ?? null,
        clock: context.clock,
      };
      const assigns = flags.assignPlaces === true;
      const moves = flags.to !== undefined || flags.toFile !== undefined;
      const ways = [assigns, flags.to !== undefined, flags.toFile !== undefined].filter(Boolean).length;
      const hasMore = flags.deliveries === true || flags.fromEmpty === true || (moves && request.startsOver);
      if (ways > 1 || (ways === 1 && hasMore)) {
        throw new CliError(
          '--to and --to-file can only be combined with --json and --threads, --assign-places also with --start-over',
        );
      }
      const progress = context.progress ?? terminalProgress();
      if (moves) {
        const urls = readUrls(flags.to ?? (await textOf(flags.toFile ?? '')), environment);
        const cipher = new SecretCipher(await encryptionKeys(environment));
        const { clock } = context;
        const moved = await withInstallation(
          environment,
          (installation) => moveFeed(installation, { urls, cipher, threads: request.threads, clock }, progress),
          { migrates: true },
        );
        for (const line of flags.json === true ? [moveJson(moved)] : moveLines(moved)) context.print(line);
        return;
      }
      const report = await explained(
        withInstallation(
          environment,
          (installation) =>
            assigns
              ? assignPlaces(installation, request, progress)
              : alone(installation.store, (signal) => rebuild(installation, { ...request, signal }, progress)),
          { placesAreChecked: !assigns, migrates: true, movesFeed: assigns },
        ),
      );
      for (const line of flags.json === true ? [reportJson(report)] : reportLines(report)) context.print(line);
    });
}

function readThreads(text: string): number {
  const threads = Number(text);
  if (/^\d+$/.test(text) && threads >= 1 && threads <= MAX_THREADS) return threads;
  throw new InvalidArgumentError(`expected an integer from 1 to ${MAX_THREADS}`);
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

/** @throws CliError */
async function textOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: unknown) => {
    throw new CliError(`cannot read ${path}: ${(error as NodeJS.ErrnoException).code ?? String(error)}`);
  });
}

/** @throws CliError */
function readUrls(text: string, environment: Environment): readonly string[] {
  const { projectionDatabaseUrls: setting } = SETTINGS;
  const urls = text.trim().replaceAll(/[\s,]+/g, ',');
  const read = readSetting(setting, { ...environment, [setting.name]: urls });
  if (read.kind === 'problem' || read.value.length === 0) {
    throw new CliError(`the list of databases must be ${setting.expected}`);
  }
  const names = read.value.map(databaseName);
  const twice = names.find((name, place) => names.indexOf(name) !== place);
  if (twice !== undefined) throw new CliError(`the list names ${twice} more than once`);
  return read.value;
}

function moveJson(moved: MoveReport | MovedBefore): string {
  if (!('databases' in moved)) return '{}';
  const { closedMs, closedInVain, ...report } = moved;
  return JSON.stringify({ ...report, hasMainLeft: undefined, closed_ms: closedMs, closed_in_vain: closedInVain });
}

export function moveLines(moved: MoveReport | MovedBefore): readonly string[] {
  if (!('databases' in moved)) {
    return ['The feed is in these databases already.', ...(moved.left.length === 0 ? [] : nextSteps(moved))];
  }
  return [
    `${moved.records} records folded, ${moved.copied} events copied`,
    `${moved.events} events of ${moved.orgs} organizations compared: all the same`,
    `processes that changed to ${moved.databases.join(', ')}, after a pause of ${moved.closedMs} ms: ${moved.processes}`,
    ...(moved.closedInVain === 0
      ? []
      : [`Before that, the feed was closed and opened again ${moved.closedInVain} times, for up to 2 s each.`]),
    ...nextSteps(moved),
    ...(moved.unmarked.length === 0
      ? []
      : [
          `Nothing uses ${moved.unmarked.join(', ')} any more, but it could not be marked as left: it takes no writes.`,
        ]),
  ];
}

function nextSteps({ left, hasMainLeft }: MovedBefore): readonly string[] {
  return [
    'Set PROJECTION_DATABASE_URLS of every process to the new list, with its own account, and restart it.',
    'Until then, it uses the accounts of the list that you gave.',
    `The feed has left ${left.join(', ')}. Once "gapless verify" is content, drop what nothing else needs.`,
    ...(hasMainLeft
      ? ['Do not drop the main database (DATABASE_URL): run "truncate events, org_heads, feed_days" in it instead.']
      : []),
  ];
}

function reportJson({ records, foldedBefore, foreign, kept, compared }: RebuildReport): string {
  return JSON.stringify({ records, folded_before: foldedBefore, foreign, kept, tables: compared });
}

function reportLines({ records, foldedBefore, foreign, kept, compared }: RebuildReport): readonly string[] {
  const tables = (compared ?? []).map(({ table, rows, differing }) =>
    differing === 0
      ? `${table}: ${rows} rows, as they were`
      : `${table}: ${rows} rows, ${differing} of them not as they were`,
  );
  const before = foldedBefore === 0 ? '' : `, after ${foldedBefore} before it was interrupted`;
  const skipped = foreign === 0 ? [] : [`${foreign} records that are not delivery facts are skipped`];
  const older = kept === 0 ? [] : [`${kept} events kept that the log no longer has`];
  return [`${records} records folded${before}`, ...skipped, ...older, ...tables, 'What was rebuilt is served now.'];
}
