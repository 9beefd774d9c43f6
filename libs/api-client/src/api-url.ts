const API_PATH = '/api/v1';

/**
 * Returns the URL that the paths of operations are appended to: `https://gapless.example/api/v1`.
 * @param baseUrl the service's URL; people also copy it together with `/api/v1`
 * @throws TypeError when it is no http or https URL
 */
export function apiUrlOf(baseUrl: string): string {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    throw new TypeError(`baseUrl is not an http or https URL: ${baseUrl}`);
  }
  const base = (url.origin + url.pathname).replace(/\/+$/, '');
  return base.endsWith(API_PATH) ? base : base + API_PATH;
}
