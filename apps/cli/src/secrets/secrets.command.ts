import { Command } from 'commander';
import { SecretCipher, SecretRotation, UnknownKeyError, type RotatedSecrets } from '#libs/postgres';
import type { Environment } from '#libs/runtime';
import { CliError } from '../cli-error.js';
import { encryptionKeys } from './encryption-keys.js';
import { withStore } from '../with-store.js';

/** Large pages of stored answers take long on a slow disk. */
const QUERY_TIMEOUT_MS = 600_000;

const HELP = `
A key keeps its id for good, and no other key ever gets that id. To replace the key k1 with a new key k2:
  1. Restart all processes with SECRET_ENCRYPTION_KEYS=k1:…,k2:… They can now read what k2 encrypts.
  2. Restart all processes with k2:…,k1:… The first key encrypts.
  3. Run this command with the same value. You can interrupt it and run it again at any time.
  4. Restart all processes with k2:…`;

/** `secrets rotate`: encrypts the stored secrets again, with the first encryption key. */
export function secretsCommand(
  context: { readonly print: (line: string) => void },
  environment: Environment = process.env,
): Command {
  const secrets = new Command('secrets').description('manage stored secrets');
  secrets
    .command('rotate')
    .description(
      'encrypt all endpoint secrets, signing keys and stored answers with the first key of SECRET_ENCRYPTION_KEYS',
    )
    .option('--json', 'print JSON')
    .addHelpText('after', HELP)
    .action(async ({ json }: { readonly json?: boolean }) => {
      const cipher = new SecretCipher(await encryptionKeys(environment));
      const rotated = await withStore(environment, (store) => explained(new SecretRotation(store, cipher).rotate()), {
        queryTimeoutMs: QUERY_TIMEOUT_MS,
      });
      context.print(
        json === true
          ? JSON.stringify(rotated)
          : `encrypted again: ${rotated.endpoints} endpoint secrets, ${rotated.idempotency_keys} stored answers, ${rotated.signing_keys} signing keys`,
      );
    });
  return secrets;
}

async function explained(work: Promise<RotatedSecrets>): Promise<RotatedSecrets> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof UnknownKeyError) throw new CliError(`${error.message}; add it after the first one`);
    throw error;
  }
}
