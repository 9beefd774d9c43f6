const KEY = 'gapless.signed-in';

// Scripts cannot read the cookie. This hint shows whether to ask the api for a session. It proves nothing, and losing
// it costs a sign-in.
export const sessionHint = {
  isSet: (): boolean => read() === '1',
  set: (): void => {
    write('1');
  },
  clear: (): void => {
    write(null);
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
