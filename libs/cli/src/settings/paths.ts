import { join, posix } from 'node:path';
import type { CliContext } from '../context.js';

type Places = Pick<CliContext, 'environment' | 'home' | 'platform'>;

/** A directory by the XDG specification, which ignores relative paths; on Windows, in the application data. */
function directory({ environment, home, platform }: Places, variable: string, fallback: string): string {
  const given = environment[variable];
  if (given !== undefined && posix.isAbsolute(given)) return join(given, 'gapless');
  const appData = environment['APPDATA'];
  if (platform === 'win32' && appData !== undefined && appData !== '') return join(appData, 'gapless');
  return join(home, fallback, 'gapless');
}

/** The file with the address and the API key. */
export function credentialsFile(places: Places): string {
  return join(directory(places, 'XDG_CONFIG_HOME', '.config'), 'credentials.json');
}

/** The directory with the positions and signing secrets of `gapless listen`. */
export function listenDirectory(places: Places): string {
  return join(directory(places, 'XDG_STATE_HOME', '.local/state'), 'listen');
}
