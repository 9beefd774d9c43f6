import type { DestinationKind } from './destination-kind.js';
import { http } from './http/http.js';

/** All kinds of destinations. The first one judges urls that are no kind's. */
export const DESTINATION_KINDS: readonly [DestinationKind, ...DestinationKind[]] = [http];
