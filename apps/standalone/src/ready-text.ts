import type { Config } from '#libs/runtime';

/** The text that is printed once everything runs, with what to try next. */
export function readyText(url: string, config: Config, credentialsPath: string | null): string {
  const lines = ['', `Gapless is ready at ${url}`, ''];
  if (credentialsPath !== null) lines.push(`  credentials       ${credentialsPath}`);
  lines.push(
    `  dashboard         ${url}/`,
    `  API description   ${url}/docs`,
    `  health            ${url}/health/ready`,
  );
  if (config.allowHttpUrls || config.allowedPrivateNetworks !== '') {
    lines.push(
      '',
      '  For local development, endpoints may be ' +
        [
          ...(config.allowHttpUrls ? ['plain http://'] : []),
          ...(config.allowedPrivateNetworks === '' ? [] : [`in ${config.allowedPrivateNetworks}`]),
        ].join(' and ') +
        '.',
    );
  }
  lines.push(
    '',
    '  Try in another terminal:',
    '    npm run -s receiver             # registers an endpoint and prints what it is pushed',
    '    npm run -s gapless -- emit      # emits an event',
    '    npm run -s gapless -- tail      # follows the log',
    '',
    '  Ctrl-C stops everything.',
    '',
  );
  return lines.join('\n');
}
