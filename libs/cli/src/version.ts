/** The version of the package. A spec compares it with `package.json`, which is elsewhere in a bundle. */
export const VERSION = '0.1.0';
