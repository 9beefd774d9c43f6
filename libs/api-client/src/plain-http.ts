import axios, { type Axios } from 'axios';

/**
 * Returns an axios without anything of `axios.defaults`. Those belong to the application: they may hold credentials for
 * other systems, or read answers in another way.
 */
export function plainHttp(): Axios {
  // `axios.create` would copy the defaults.
  return new axios.Axios({
    // Without adapters of its own, an instance takes those of the defaults.
    adapter: ['xhr', 'http', 'fetch'],
    headers: { Accept: 'application/json' },
    transformResponse: [parsed],
  });
}

/** Returns what the JSON says. Other text stays as it is: it is the page of a proxy. */
function parsed(text: unknown): unknown {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
