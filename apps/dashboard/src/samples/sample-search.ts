import { LANGUAGES, type Language } from './languages.js';

export interface SampleSearch {
  readonly endpoint?: string;
  readonly language?: Language;
}

/** Reads the parameters of an address, and ignores invalid ones. */
export function parseSampleSearch(search: Record<string, unknown>): SampleSearch {
  const language = LANGUAGES.find((candidate) => candidate === search['language']);
  const endpoint = search['endpoint'];
  return {
    ...(typeof endpoint === 'string' && endpoint !== '' ? { endpoint } : {}),
    ...(language === undefined ? {} : { language }),
  };
}
