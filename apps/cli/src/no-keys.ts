/** Stands for the encryption keys in commands that decrypt nothing. */
export const NO_KEYS = `none:${Buffer.alloc(32).toString('base64')}`;
