import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { GaplessError } from '#libs/domain';
import '../auth/authenticated-key.js';
import { networkOfCaller } from './caller-address.js';
import type { Callers } from './callers.js';
import { FairRoom, sharerOf } from './fair-room.js';
import { whenClosed } from './when-closed.js';

/** Smaller answers do not count: sockets hold as much by themselves. */
const SMALL_BYTES = 64 * 1024;
/** A connection is closed when its client reads nothing of an answer for this long, milliseconds. */
const PATIENCE_MS = 60_000;
/** It is closed, too, when its client has not read all of an answer after this long: 28 KB/s for the largest page. */
const DEADLINE_MS = 300_000;

/**
 * Limits the memory of large answers that callers have asked for and do not read, such as pages of the feed, for each
 * organization and in total. Beyond it, the organization gets no large answer, and a key that holds one gets nothing.
 * The portal of an organization counts apart, so that its visitors take no room from the organization's own keys.
 * Files that are sent as they are read take little memory, and only have the limits of time.
 * @param maxBytes of all answers to callers with a key. The answers to callers without one have half as much of their own.
 * @param deadlineMs how long a client may read one large answer, or one file
 */
export function limitUnreadAnswers(
  instance: FastifyInstance,
  maxBytes: number,
  callers: Pick<Callers, 'addressOf'>,
  deadlineMs = DEADLINE_MS,
): void {
  const ofKeys = new FairRoom(maxBytes);
  const withoutKey = new FairRoom(maxBytes / 2);
  const heldByKey = new FairRoom(maxBytes);
  const roomOf = ({ apiKey }: FastifyRequest) => (apiKey === null ? withoutKey : ofKeys);
  // Anyone can have many addresses.
  const callerOf = (request: FastifyRequest) => sharerOf(request) ?? networkOfCaller(callers.addressOf(request));
  const holdsAnswers = ({ apiKey }: FastifyRequest) => apiKey !== null && heldByKey.held(apiKey.quota) > 0;
  const hasRoom = (request: FastifyRequest, bytes: number): boolean => {
    const [room, caller] = [roomOf(request), callerOf(request)];
    const held = room.held(caller);
    // A caller that has read everything may always get one answer.
    if (held === 0) return true;
    // So may a key beside slow ones of its organization, as long as these do not fill the room.
    const isFirstOfKey = request.apiKey !== null && !holdsAnswers(request);
    return held + bytes <= (isFirstOfKey ? maxBytes : room.allowed(caller));
  };
  // Before an answer is made, since making it takes memory, too. What a caller writes does not wait for what it reads.
  // Without a key, all who come by a proxy that is not trusted are one caller, and so may be its checks of our health.
  instance.addHook('preHandler', (request, _reply, done) => {
    const isFull = request.method === 'GET' && holdsAnswers(request) && !hasRoom(request, 1);
    done(isFull ? tooManyUnread() : undefined);
  });
  instance.addHook('onSend', (request, reply, payload, done) => {
    // Also if another answer of the connection is before it.
    const giveUp = () => {
      request.raw.socket.destroy();
    };
    const limitTime = () => {
      // A client that reads a little now and then would keep the room for hours.
      const deadline = setTimeout(giveUp, deadlineMs).unref();
      whenClosed(reply, () => {
        clearTimeout(deadline);
      });
      reply.raw.setTimeout(PATIENCE_MS, giveUp);
    };
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) {
      if (payload instanceof Readable && !isEndless(reply)) limitTime();
      done(null, payload);
      return;
    }
    const bytes = Buffer.byteLength(payload);
    if (bytes < SMALL_BYTES) {
      done(null, payload);
      return;
    }
    if (!hasRoom(request, bytes)) {
      done(request.apiKey === null || holdsAnswers(request) ? tooManyUnread() : tooManyUnreadByOthers());
      return;
    }
    const [room, caller, quota] = [roomOf(request), callerOf(request), request.apiKey?.quota];
    const add = (more: number) => {
      room.add(caller, more);
      if (quota !== undefined) heldByKey.add(quota, more);
    };
    add(bytes);
    whenClosed(reply, () => {
      add(-bytes);
    });
    limitTime();
    done(null, payload);
  });
}

/** Streams of events have a limit of their own, and no end. */
function isEndless(reply: FastifyReply): boolean {
  return String(reply.getHeader('content-type')).startsWith('text/event-stream');
}

function tooManyUnread(): GaplessError {
  return new GaplessError(
    'rate_limited',
    'Read the answers that you have asked for first: too many bytes of them wait for you. Nothing was read; try again.',
    { retryAfterSeconds: 1 },
  );
}

function tooManyUnreadByOthers(): GaplessError {
  return new GaplessError(
    'rate_limited',
    'Other keys of your organization have not read their answers: too many bytes of them wait. Nothing was read; ' +
      `try again. Their connections are closed after ${DEADLINE_MS / 60_000} minutes.`,
    { retryAfterSeconds: 1 },
  );
}
