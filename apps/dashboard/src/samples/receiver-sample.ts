import type { Endpoint } from '../api/resources.js';
import { goSample } from './go-sample.js';
import type { Language } from './languages.js';
import { nodeSample } from './node-sample.js';
import { phpSample } from './php-sample.js';
import { pythonSample } from './python-sample.js';
import type { SampleParts } from './sample-parts.js';

const SAMPLES: Readonly<Record<Language, (parts: SampleParts) => string>> = {
  node: nodeSample,
  python: pythonSample,
  go: goSample,
  php: phpSample,
};

/** Returns a complete receiver for an endpoint, which verifies pushes. */
export function receiverSample(language: Language, { url, ordering }: Pick<Endpoint, 'url' | 'ordering'>): string {
  const { pathname, search, href } = new URL(url);
  return SAMPLES[language]({
    path: language === 'go' ? pathname : pathname + search,
    // The url must not be able to end the comment.
    about: `Receives what Gapless pushes to ${href.replaceAll('?>', '?%3E')}`,
    hasBatches: ordering.batch > 1,
  });
}
