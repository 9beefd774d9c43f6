/** The version in `User-Agent` and in the API's description. */
export const VERSION = '0.1.0';
