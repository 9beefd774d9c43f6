/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** An environment variable with its parser and its description. */
export interface Setting<Value> {
  readonly name: string;
  /** Its meaning, for the table in docs/settings.md. */
  readonly meaning: string;
  /** The expected format of a value. */
  readonly expected: string;
  /** @returns `undefined` if the text is not valid */
  readonly parse: (text: string) => Value | undefined;
  readonly whenUnset: WhenUnset<Value>;
  /** Whether the value is kept out of every message and list. */
  readonly isSecret: boolean;
}

export type WhenUnset<Value> =
  | { readonly kind: 'required' }
  /** The value is that of this text. */
  | { readonly kind: 'default'; readonly text: string }
  | { readonly kind: 'absent'; readonly value: Value };

/** The result of reading a setting. */
export type Reading<Value> =
  | { readonly kind: 'read'; readonly value: Value; readonly source: 'environment' | 'default' }
  | { readonly kind: 'problem'; readonly problem: string };

/** Reads a setting. An empty variable counts as unset. */
export function readSetting<Value>(setting: Setting<Value>, environment: Environment): Reading<Value> {
  const { name, expected, whenUnset, isSecret } = setting;
  const text = environment[name]?.trim() ?? '';
  if (text !== '') {
    const value = setting.parse(text);
    if (value !== undefined) return { kind: 'read', value, source: 'environment' };
    return { kind: 'problem', problem: `${name}=${isSecret ? '…' : text}: expected ${expected}` };
  }
  switch (whenUnset.kind) {
    case 'required':
      return { kind: 'problem', problem: `${name} is not set: expected ${expected}` };
    case 'absent':
      return { kind: 'read', value: whenUnset.value, source: 'default' };
    case 'default': {
      const value = setting.parse(whenUnset.text);
      if (value === undefined) throw new Error(`${name}: its default ${whenUnset.text} is not ${expected}`);
      return { kind: 'read', value, source: 'default' };
    }
  }
}
