import { z } from 'zod';

/** An index holds the url, and has room for so many bytes of it. */
const MAX_BYTES = 2_048;

/** The url of a callback as it is sent. It is checked as that of an endpoint, too. */
export const CALLBACK_URL = z
  .string()
  .refine((url) => Buffer.byteLength(url) <= MAX_BYTES, 'must have at most 2,048 bytes')
  // Postgres cannot store NUL, and others of these would be left out of what is shown and stored.
  .refine((url) => !/[\s\p{C}]/u.test(url), 'must not have spaces or control characters');
