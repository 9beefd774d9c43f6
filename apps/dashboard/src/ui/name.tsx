interface NameProps {
  readonly children: string;
  /** Whether a long name takes more lines. Otherwise it is cut, and the tooltip has all of it. */
  readonly wraps?: boolean;
}

/** A name that others chose: whatever is in it, it stays in its place and changes no text beside it. */
export function Name({ children, wraps = false }: NameProps) {
  return (
    <bdi className={wraps ? 'name name-wraps' : 'name'} title={wraps ? undefined : children}>
      {children}
    </bdi>
  );
}

/** Returns the name for texts without markup, in marks that keep it from changing the text beside it. */
export function isolated(name: string): string {
  return `\u2068${name.replaceAll(/[\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')}\u2069`;
}
