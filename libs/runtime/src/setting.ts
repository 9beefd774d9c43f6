/** The environment of a process, or what stands for it. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** A variable of the environment: how it is read, and how it is described. */
export interface Setting<Value> {
  readonly name: string;
  /** Its meaning, for the table in docs/settings.md. */
  readonly meaning: string;
  /** The expected format of a value. */
  readonly expected: string;
  /** @returns `undefined` for what is not a value */
  readonly parse: (text: string) => Value | undefined;
  readonly whenUnset: WhenUnset<Value>;
  /** Kept out of every message and list. */
  readonly isSecret: boolean;
}

export type WhenUnset<Value> =
  | { readonly kind: 'required' }
  /** The value that this text stands for. */
  | { readonly kind: 'default'; readonly text: string }
  | { readonly kind: 'absent'; readonly value: Value };

/** The result of reading a setting. */
export type Reading<Value> =
  | { readonly kind: 'read'; readonly value: Value; readonly source: 'environment' | 'default' }
  | { readonly kind: 'problem'; readonly problem: string };

/** A variable that is set to nothing is as if unset. */
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
