import { useSession } from '../session/use-session.js';
import { zonedTime } from '../time/time-text.js';
import { useNow } from '../time/use-now.js';
import { Icon } from '../ui/icon.js';

const SOON_MS = 5 * 60_000;
const LOOK_EVERY_MS = 10_000;

/** Says shortly before the session ends that it does: its end takes away what is typed in forms. */
export function SessionEndNote() {
  const { expires_at: end } = useSession();
  const leftMs = new Date(end).getTime() - useNow(LOOK_EVERY_MS);
  if (leftMs > SOON_MS || leftMs <= 0) return null;
  return (
    <p className="session-end">
      <Icon name="clock" />
      <span>
        <strong>This session ends at {zonedTime(end)}.</strong> Save your changes.
      </span>
    </p>
  );
}
