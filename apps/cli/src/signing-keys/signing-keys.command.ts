import { Command } from 'commander';
import { SecretCipher, SigningKeys, type PublicSigningKey } from '#libs/postgres';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { encryptionKeys } from '../secrets/encryption-keys.js';
import { withStore } from '../with-store.js';

const HELP = `
During the overlap both keys sign, so receivers that remember /.well-known/jwks.json for a while miss nothing. With --overlap 0s
the old key stops at once: use it if the key may be known to others.`;

const DURATION = /^(\d{1,9})([smhd])$/;
const SECONDS = { s: 1, m: 60, h: 3_600, d: 86_400 } as const;

interface JsonFlag {
  readonly json?: boolean;
}

/** `signing-keys rotate|list`: the installation's Ed25519 keys (contract 6.2). */
export function signingKeysCommand(
  context: { readonly print: (line: string) => void },
  environment: Environment = process.env,
): Command {
  const withKeys = async <T>(act: (keys: SigningKeys) => Promise<T>): Promise<T> => {
    const cipher = new SecretCipher(await encryptionKeys(environment));
    return withStore(environment, (store) => act(new SigningKeys(store, cipher)));
  };
  const command = new Command('signing-keys').description('rotate and list the Ed25519 keys that sign pushes');
  command
    .command('rotate')
    .description('make a new key, which signs from the next push on')
    .option('--overlap <duration>', 'how long the current key also signs, such as 24h', '24h')
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async ({ overlap, json }: { readonly overlap: string } & JsonFlag) => {
      const id = await withKeys((keys) => keys.rotate(secondsOf(overlap)));
      context.print(json === true ? JSON.stringify({ id }) : `${id} signs from now on`);
    });
  command
    .command('list')
    .description('list the keys that sign now, the current one first')
    .option('--json', 'print JSON')
    .action(async ({ json }: JsonFlag) => {
      const found = await withKeys((keys) => keys.published());
      if (json === true) context.print(JSON.stringify(found.map(keyJson)));
      else for (const key of found) context.print(keyLine(key));
    });
  return command;
}

function secondsOf(text: string): number {
  const [, count, unit] = DURATION.exec(text) ?? [];
  if (count === undefined || unit === undefined)
    throw new CliError(`--overlap ${text}: expected a duration such as 24h`);
  return Number(count) * SECONDS[unit as keyof typeof SECONDS];
}

function keyJson({ id, publicKey, createdAt, signsUntil }: PublicSigningKey) {
  return { id, public_key: `whpk_${publicKey.toString('base64')}`, created_at: createdAt, signs_until: signsUntil };
}

function keyLine({ id, publicKey, createdAt, signsUntil }: PublicSigningKey): string {
  const state = signsUntil === null ? 'current' : `signs until ${signsUntil.toISOString()}`;
  return [id, `whpk_${publicKey.toString('base64')}`, createdAt.toISOString(), state].join('\t');
}
