import { Command } from 'commander';
import { emitCommand } from './commands/emit.command.js';
import { simulateCommand } from './commands/simulate.command.js';
import { tailCommand, type TailContext } from './commands/tail.command.js';
import { keysCommand, type CliContext } from './keys.command.js';
import { rebuildCommand } from './rebuild/rebuild.command.js';
import { secretsCommand } from './secrets/secrets.command.js';
import { verifyCommand } from './verify/verify.command.js';

/** The command line: `gapless <command>`. */
export function gaplessProgram(context: CliContext & TailContext): Command {
  return new Command('gapless')
    .description('Operates a Gapless installation: the one at DATABASE_URL, else the one that npm start runs here.')
    .showHelpAfterError('(try --help)')
    .addCommand(keysCommand(context))
    .addCommand(emitCommand(context))
    .addCommand(tailCommand(context))
    .addCommand(simulateCommand(context))
    .addCommand(verifyCommand(context))
    .addCommand(rebuildCommand(context))
    .addCommand(secretsCommand(context));
}
