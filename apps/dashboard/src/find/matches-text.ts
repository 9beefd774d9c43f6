import type { Endpoint } from '../api/resources.js';

/** Whether an endpoint has a text in its name, description or URL. */
export function matchesText({ name, description, url }: Pick<Endpoint, 'name' | 'description' | 'url'>, text: string) {
  const wanted = text.toLocaleLowerCase();
  return [name, description, url].some((value) => value?.toLocaleLowerCase().includes(wanted) === true);
}
