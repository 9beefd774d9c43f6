import type { DeliveryStatus, HealthStatus } from '../api/resources.js';
import { Icon, type IconName } from './icon.js';
import './status-badge.css';

export type Tone = 'good' | 'bad' | 'wait' | 'off' | 'accent';

/** A state in a word, with a matching mark and colour. */
export function Badge({
  tone,
  icon,
  children,
}: {
  readonly tone: Tone;
  readonly icon?: IconName;
  readonly children: string;
}) {
  return (
    <span className={`badge badge-${tone}`}>
      {icon !== undefined && <Icon name={icon} size={12} />}
      {children}
    </span>
  );
}

const DELIVERY: Readonly<Record<DeliveryStatus, { tone: Tone; icon: IconName; text: string }>> = {
  delivered: { tone: 'good', icon: 'check', text: 'Delivered' },
  failed: { tone: 'bad', icon: 'cross', text: 'Failed' },
  pending: { tone: 'wait', icon: 'clock', text: 'Pending' },
};

/** @param attempts how many were made so far; a pending delivery with some is being retried */
export function DeliveryBadge({
  status,
  attempts = 0,
}: {
  readonly status: DeliveryStatus;
  readonly attempts?: number;
}) {
  const { tone, icon, text } = DELIVERY[status];
  return (
    <Badge tone={tone} icon={icon}>
      {status === 'pending' && attempts > 0 ? 'Retrying' : text}
    </Badge>
  );
}

const HEALTH: Readonly<Record<HealthStatus, { tone: Tone; icon: IconName; text: string }>> = {
  healthy: { tone: 'good', icon: 'check', text: 'Healthy' },
  failing: { tone: 'wait', icon: 'warning', text: 'Failing' },
  disabled: { tone: 'bad', icon: 'cross', text: 'Disabled' },
  paused: { tone: 'off', icon: 'pause', text: 'Paused' },
  never_tried: { tone: 'off', icon: 'clock', text: 'Never tried' },
};

export function healthText(status: HealthStatus): string {
  return HEALTH[status].text;
}

export function HealthBadge({ status }: { readonly status: HealthStatus }) {
  const { tone, icon, text } = HEALTH[status];
  return (
    <Badge tone={tone} icon={icon}>
      {text}
    </Badge>
  );
}
