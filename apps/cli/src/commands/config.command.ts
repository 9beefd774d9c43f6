import { Command } from 'commander';
import { inspectConfig, type Environment, type ReadSetting } from '#libs/runtime';
import { CliError } from '../cli-error.js';

/** The environment of the command. */
export interface ConfigContext {
  readonly environment: Environment;
  /** Writes a line to standard output. */
  readonly print: (line: string) => void;
}

/** `config check`: checks the settings that a stage reads from this environment. */
export function configCommand(context: ConfigContext): Command {
  const config = new Command('config').description('check the settings');
  config
    .command('check')
    .description('print every setting, its source and its problems; fail if a stage would not start with them')
    .option('--json', 'print JSON')
    .action((flags: { readonly json?: boolean }) => {
      const { settings, problems } = inspectConfig(context.environment);
      if (flags.json === true) context.print(JSON.stringify({ settings, problems }));
      else for (const line of settingLines(settings)) context.print(line);
      if (problems.length > 0) {
        throw new CliError(`invalid settings:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
      }
    });
  return config;
}

function settingLines(settings: readonly ReadSetting[]): readonly string[] {
  const width = Math.max(...settings.map(({ name }) => name.length));
  return settings.map(({ name, source, shown }) => `${name.padEnd(width)}  ${source.padEnd(11)}  ${shown ?? 'unset'}`);
}
