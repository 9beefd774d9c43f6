import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import { verifySignature, type SignatureProblem } from '../../../webhook-signature/src/index.js';
import { CliError } from '../cli-error.js';
import type { CliContext } from '../context.js';
import { wholeNumber } from './options.js';

interface VerifyOptions {
  readonly secret?: string;
  readonly header: string;
  readonly body: string;
  readonly tolerance: number;
}

const ADVICE: Readonly<Record<SignatureProblem, string>> = {
  missing: 'The header is empty. Pass the value of X-Service-Signature.',
  malformed: 'The header has another form than t=<unix seconds>,v1=<hex>. Pass its whole value.',
  expired: 'The signature is too old. To check a recorded push, add --tolerance with more seconds.',
  mismatch:
    'The signature is of another body or secret. Pass the raw bytes of the body, not JSON that was printed again.',
};

function ofFuture(seconds: number): string {
  return `The signature is from ${seconds} s in the future: the clock of this machine is behind. Correct it.`;
}

/** Returns the timestamp in the header, in seconds; `NaN` if there is none. */
function signedAt(header: string): number {
  return Number(/(?:^|,)t=(\d+)/.exec(header)?.[1]);
}

/** `gapless verify-signature`: checks the signature of a push. */
export function verifySignatureCommand(context: CliContext): Command {
  return new Command('verify-signature')
    .description('Checks the signature of a push. Ends with exit code 0 if it is valid, otherwise with 1.')
    .requiredOption('--header <value>', 'the value of X-Service-Signature')
    .addOption(new Option('--secret <secret>', 'the secret of the endpoint').env('GAPLESS_WEBHOOK_SECRET'))
    .option('--body <file>', 'a file with the raw body; - reads standard input', '-')
    .option('--tolerance <seconds>', 'how old the signature may be', wholeNumber(0), 300)
    .addHelpText(
      'after',
      `
Example:
  gapless verify-signature --secret whsec_… --header 't=1772442764,v1=5f0c…' --body body.json`,
    )
    .action(async ({ secret = '', header, body: file, tolerance }: VerifyOptions) => {
      if (secret === '') throw new CliError('Which secret? Add --secret, or set GAPLESS_WEBHOOK_SECRET.', 2);
      const body = file === '-' ? await context.readInput() : await readBody(file);
      const verdict = verifySignature({ body, header, secret, toleranceSeconds: tolerance, now: context.now() });
      if (!verdict.valid) {
        const { reason } = verdict;
        const aheadSeconds = signedAt(header) - Math.floor(context.now() / 1_000);
        const advice = reason === 'expired' && aheadSeconds > 0 ? ofFuture(aheadSeconds) : ADVICE[reason];
        throw new CliError(`The signature is not valid (${reason}). ${advice}`);
      }
      context.print(`The signature is valid. It was made at ${new Date(verdict.timestamp * 1_000).toISOString()}.`);
    });
}

async function readBody(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${(error as Error).message}`, 2);
  }
}
