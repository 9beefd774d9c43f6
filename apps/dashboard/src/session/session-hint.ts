const KEY = 'gapless.signed-in';

// Scripts cannot read the cookie. This hint shows whether to ask the api for a session, and of which key. It proves
// nothing, and losing it costs a sign-in. The tabs of a browser share it, as they share the cookie.
export const sessionHint = {
  keyId: (): string | null => read(),
  set: (keyId: string): void => {
    if (keyId !== read()) write(keyId);
  },
  clear: (): void => {
    write(null);
  },
  /** @param listener called when another tab has signed in */
  whenSetElsewhere: (listener: () => void): void => {
    addEventListener('storage', ({ key, newValue }) => {
      if (key === KEY && newValue !== null) listener();
    });
  },
};

function read(): string | null {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null;
  }
}

function write(value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, value);
  } catch {
    // Storage may be switched off. Every visit then begins with a sign-in.
  }
}
