/** The languages that have samples. */
export const LANGUAGES = ['node', 'python', 'go', 'php'] as const;

export type Language = (typeof LANGUAGES)[number];

export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  node: 'Node.js',
  python: 'Python',
  go: 'Go',
  php: 'PHP',
};

/** The command that starts each sample. */
export const LANGUAGE_COMMANDS: Readonly<Record<Language, string>> = {
  node: 'GAPLESS_SECRET=whsec_… node receiver.mjs',
  python: 'GAPLESS_SECRET=whsec_… python3 receiver.py',
  go: 'GAPLESS_SECRET=whsec_… go run receiver.go',
  php: 'GAPLESS_SECRET=whsec_… php -S 127.0.0.1:8080 receiver.php',
};
