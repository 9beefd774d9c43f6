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

/** A whole receiver that verifies what it is sent, for the endpoint at this url. */
export function receiverSample(language: Language, endpointUrl: string): string {
  const { pathname, search } = new URL(endpointUrl);
  // A url of somebody's is shown in a comment: it must not be able to end it.
  const about = `Receives what Gapless pushes to ${new URL(endpointUrl).href.replaceAll('?>', '?%3E')}`;
  return SAMPLES[language](language === 'go' ? pathname : pathname + search, about);
}
