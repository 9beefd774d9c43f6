import type { Provider } from '@nestjs/common';
import { Confirmations, EventCursors } from '#libs/domain';
import { EVENT_CURSOR_KEYS, SecretCipher } from '#libs/postgres';

/** Cursors and confirmations are signed with keys of their own, so neither can be used as the other. */
export const SIGNERS: readonly Provider[] = [
  {
    provide: EventCursors,
    useFactory: (cipher: SecretCipher) => new EventCursors(cipher.keysFor(EVENT_CURSOR_KEYS)),
    inject: [SecretCipher],
  },
  {
    provide: Confirmations,
    useFactory: (cipher: SecretCipher) => new Confirmations(cipher.keysFor('mcp-confirmations')),
    inject: [SecretCipher],
  },
];
