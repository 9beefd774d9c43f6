const MEANINGS: Readonly<Record<string, string>> = {
  http_status: 'Responded with an error status',
  timeout: 'No answer in time',
  dns: 'The host name could not be resolved',
  connect: 'The connection was refused or closed',
  tls: 'No secure connection could be made',
  blocked_address: 'The address is not a public one',
  token: 'No access token',
  not_acknowledged: 'The answer acknowledges none of the events',
  skipped: 'Skipped',
  endpoint_disabled: 'The endpoint was disabled',
  endpoint_deleted: 'The endpoint was deleted',
};

/** Returns the code of an error: `http_status` of `http_status: 503`. */
export function errorCode(error: string): string {
  return error.split(': ', 1)[0] ?? '';
}

/** Returns the meaning of an attempt's error (`code` or `code: detail`) in words. */
export function errorText(error: string): string {
  const [code = '', ...detail] = error.split(': ');
  const meaning = MEANINGS[code];
  if (meaning === undefined) return error;
  return detail.length === 0 ? meaning : `${meaning}: ${detail.join(': ')}`;
}
