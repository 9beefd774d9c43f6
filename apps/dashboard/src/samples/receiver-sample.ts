import { goSample } from './go-sample.js';
import type { Language } from './languages.js';
import { nodeSample } from './node-sample.js';
import { phpSample } from './php-sample.js';
import { pythonSample } from './python-sample.js';

const SAMPLES: Readonly<Record<Language, (path: string, about: string) => string>> = {
  node: nodeSample,
  python: pythonSample,
  go: goSample,
  php: phpSample,
};

/** Returns a complete receiver for the endpoint at this url, which verifies pushes. */
export function receiverSample(language: Language, endpointUrl: string): string {
  const { pathname, search } = new URL(endpointUrl);
  // The url is shown in a comment, and must not be able to end it.
  const about = `Receives what Gapless pushes to ${new URL(endpointUrl).href.replaceAll('?>', '?%3E')}`;
  return SAMPLES[language](language === 'go' ? pathname : pathname + search, about);
}
