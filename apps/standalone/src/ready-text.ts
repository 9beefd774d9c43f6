import { join } from 'node:path';
import { shellWord, type Config } from '#libs/runtime';

/** What endpoints may be. */
type Rules = Pick<Config, 'allowHttpUrls' | 'allowedPrivateNetworks'>;

/** The folder of an installation with servers of its own. */
export interface DataFolder {
  readonly path: string;
  /** Whether `DATA_DIR` names it. Other commands need the variable then, too. */
  readonly isNamed: boolean;
}

/** The text that is printed once everything runs, with what to try next. */
export function readyText(url: string, config: Rules, data: DataFolder | null): string {
  const lines = ['', `Gapless is ready at ${url}`, ''];
  if (data !== null) lines.push(`  credentials       ${join(data.path, 'credentials.json')}`);
  lines.push(
    `  dashboard         ${url}/`,
    `  API description   ${url}/docs`,
    `  health            ${url}/health/ready`,
  );
  const networks = config.allowedPrivateNetworks.map(({ cidr }) => cidr).join(',');
  if (config.allowHttpUrls || networks !== '') {
    lines.push(
      '',
      '  For local development, endpoints may be ' +
        [...(config.allowHttpUrls ? ['plain http://'] : []), ...(networks === '' ? [] : [`in ${networks}`])].join(
          ' and ',
        ) +
        '.',
    );
  }
  lines.push(
    '',
    '  Try in another terminal:',
    ...(data === null ? [] : dataDirLines(data)),
    '    npm run -s receiver',
    '    npm run -s gapless -- emit',
    '    npm run -s gapless -- tail',
    '',
    '  The receiver registers an endpoint and prints what it is pushed. emit emits an event, tail follows the log.',
    '',
    '  Ctrl-C stops everything.',
    '',
  );
  return lines.join('\n');
}

/** The text that is printed once the servers run without stages. */
export function serversText(data: DataFolder): string {
  return [
    '',
    'The servers are ready. No stage runs.',
    '',
    `  credentials       ${join(data.path, 'credentials.json')}`,
    '',
    '  In another terminal:',
    ...dataDirLines(data),
    '    npm run -s gapless -- repair',
    '',
    '  repair shows what Kafka or Postgres lost.',
    '',
    '  Ctrl-C stops them.',
    '',
  ].join('\n');
}

/** The line that other commands need before they find the folder. */
function dataDirLines({ path, isNamed }: DataFolder): readonly string[] {
  return isNamed ? [`    export DATA_DIR=${shellWord(path)}`] : [];
}
