import { SETTINGS, type Setting } from '#libs/runtime';

const settings = new Map(Object.values(SETTINGS).map((setting: Setting<unknown>) => [setting.name, setting]));

/** The names of the settings that are secrets. */
export const SECRETS = [...settings.values()].filter(({ isSecret }) => isSecret).map(({ name }) => name);

/** Returns the problems of a Gapless process's variables: names that are no settings, and invalid values. */
export function environmentProblems(environment: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.entries(environment).flatMap(([name, value]) => {
    const text = String(value);
    const held = settings.has(name) ? name : name.replace(/_FILE$/, '');
    if (held !== name && (settings.has(held) || held.startsWith('OTEL_'))) {
      return text.startsWith('/secrets/') ? [] : [`${name}=${text}: not where secrets are mounted`];
    }
    const setting = settings.get(name);
    if (setting === undefined) return [`${name} is no setting`];
    if (setting.isSecret) return [`${name} holds a secret as plain text. Use ${name}_FILE.`];
    return setting.parse(text) === undefined ? [`${name}=${text}: expected ${setting.expected}`] : [];
  });
}
