import { ConfigError, type Config } from './config.js';
import { readSetting, type Environment, type Reading, type Setting } from './setting.js';
import { problemsTogether } from './settings-together.js';
import { SETTINGS } from './settings.js';

/** A setting with its value, for display. */
export interface ReadSetting {
  readonly name: string;
  /** Secrets show as `set`. `null` if there is neither a value nor a default. */
  readonly shown: string | null;
  readonly source: 'environment' | 'default' | 'problem';
}

/** Reads every setting from this environment, and lists every problem. */
export function inspectConfig(environment: Environment): {
  readonly settings: readonly ReadSetting[];
  readonly problems: readonly string[];
} {
  const problems: string[] = [];
  const settings = Object.values(SETTINGS).map((setting: Setting<unknown>): ReadSetting => {
    const reading = readSetting(setting, environment);
    if (reading.kind === 'problem') problems.push(reading.problem);
    return {
      name: setting.name,
      shown: shownOf(setting, environment),
      source: reading.kind === 'problem' ? 'problem' : reading.source,
    };
  });
  return { settings, problems: [...problems, ...problemsTogether(environment)] };
}

function shownOf({ name, isSecret, whenUnset }: Setting<unknown>, environment: Environment): string | null {
  const text = environment[name]?.trim() ?? '';
  if (text !== '') return isSecret ? 'set' : text;
  return whenUnset.kind === 'default' ? whenUnset.text : null;
}

/**
 * @throws ConfigError with every problem at once
 */
export function loadConfig(environment: Environment): Config {
  const readings = Object.entries(SETTINGS).map(
    ([key, setting]) => [key, readSetting(setting as Setting<unknown>, environment)] as const,
  );
  const problems = readings.flatMap(([, reading]) => (reading.kind === 'problem' ? [reading.problem] : []));
  problems.push(...problemsTogether(environment));
  if (problems.length > 0) throw new ConfigError(problems);
  // Each key of the schema has a setting of the same type.
  const config = Object.fromEntries(readings.map(([key, reading]) => [key, valueOf(reading)])) as unknown as Config;
  return Object.freeze(config);
}

function valueOf(reading: Reading<unknown>): unknown {
  return reading.kind === 'read' ? reading.value : undefined;
}
