/** The version that `User-Agent` and the API's description tell. */
export const VERSION = '0.1.0';
