import type { DestinationKind } from './destination-kind.js';
import { http } from './http/http.js';

/** All kinds of destinations. The first one also judges urls whose scheme no kind has. */
export const DESTINATION_KINDS: readonly [DestinationKind, ...DestinationKind[]] = [http];
