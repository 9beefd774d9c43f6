import { Command } from 'commander';
import { configCommand, type ConfigContext } from './commands/config.command.js';
import { credentialsCommand } from './commands/credentials.command.js';
import { emitCommand } from './commands/emit.command.js';
import { migrateCommand, type MigrateContext } from './commands/migrate.command.js';
import { simulateCommand } from './commands/simulate.command.js';
import { tailCommand, type TailContext } from './commands/tail.command.js';
import { keysCommand, type CliContext } from './keys.command.js';
import { rebuildCommand } from './rebuild/rebuild.command.js';
import { repairCommand } from './repair/repair.command.js';
import { secretsCommand } from './secrets/secrets.command.js';
import { signingKeysCommand } from './signing-keys/signing-keys.command.js';
import { verifyCommand } from './verify/verify.command.js';

/** The command line: `gapless <command>`. */
export function gaplessProgram(context: CliContext & TailContext & MigrateContext & ConfigContext): Command {
  return new Command('gapless')
    .description(
      'Operates a Gapless installation: the one at DATABASE_URL, or by default the one that npm start runs here.',
    )
    .showHelpAfterError('(try --help)')
    .addCommand(keysCommand(context))
    .addCommand(credentialsCommand(context))
    .addCommand(emitCommand(context))
    .addCommand(tailCommand(context))
    .addCommand(simulateCommand(context))
    .addCommand(verifyCommand(context))
    .addCommand(rebuildCommand(context))
    .addCommand(repairCommand(context))
    .addCommand(secretsCommand(context))
    .addCommand(signingKeysCommand(context))
    .addCommand(migrateCommand(context))
    .addCommand(configCommand(context));
}
