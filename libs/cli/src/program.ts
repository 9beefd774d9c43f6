import { Command } from 'commander';
import { eventsCommand } from './commands/events.command.js';
import { listenCommand } from './commands/listen.command.js';
import { loginCommand, logoutCommand } from './commands/login.command.js';
import { triggerCommand } from './commands/trigger.command.js';
import { verifySignatureCommand } from './commands/verify-signature.command.js';
import type { CliContext } from './context.js';

/** The command line for developers who receive events: `gapless <command>`. */
export function gaplessProgram(context: CliContext, version: string): Command {
  return new Command('gapless')
    .description('Develop against Gapless: forward events to your machine, emit test events, check signatures.')
    .version(version)
    .showHelpAfterError('(try --help)')
    .addCommand(loginCommand(context))
    .addCommand(logoutCommand(context))
    .addCommand(listenCommand(context))
    .addCommand(triggerCommand(context))
    .addCommand(eventsCommand(context))
    .addCommand(verifySignatureCommand(context));
}
