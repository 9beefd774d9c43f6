import { Command } from 'commander';
import { ApiClient } from '../../../api-client/src/index.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { readCatalog } from '../read-catalog.js';
import { checkedUrl, forgetCredentials, storeCredentials } from '../settings/credentials.js';
import { urlOption } from './options.js';

/** `gapless login`: asks for the API key, checks it, and stores it. */
export function loginCommand(context: CliContext): Command {
  return new Command('login')
    .description('Stores the URL of Gapless and an API key, after it has checked them.')
    .addOption(urlOption())
    .addHelpText(
      'after',
      `
Create an API key in the dashboard, under "API keys". listen and tail need events:read, trigger needs events:write.
The key is asked for, or read from standard input. It is stored in $XDG_CONFIG_HOME/gapless/credentials.json
(~/.config by default), which only you can read.

Examples:
  gapless login --url https://gapless.example
  gapless login --url https://gapless.example < key.txt`,
    )
    .action(async ({ url: given }: { readonly url?: string }) => {
      const url = given ?? context.environment['GAPLESS_URL'] ?? '';
      if (url === '') throw new CliError('Which Gapless? Add --url, as in --url https://gapless.example.', 2);
      const baseUrl = checkedUrl(url);
      const apiKey = (
        context.isInputTerminal ? await context.askHidden('API key: ') : (await context.readInput()).toString()
      ).trim();
      if (apiKey === '') throw new CliError('There was no API key.', 2);
      await readCatalog(new ApiClient({ baseUrl, apiKey, retries: 1 }));
      context.print(`The key is valid. It is stored in ${await storeCredentials(context, { url: baseUrl, apiKey })}`);
    });
}

/** `gapless logout`: deletes the stored key. */
export function logoutCommand(context: CliContext): Command {
  return new Command('logout').description('Deletes the stored API key from this machine.').action(async () => {
    await forgetCredentials(context);
    context.print('The key is deleted from this machine. It stays valid until you revoke it in the dashboard.');
  });
}
