import { Badge } from '../ui/status-badge.js';

/** The stage of a waiting chat: 0 before the first threshold, 1 after it, 2 after the second. */
export function StageBadge({ stage }: { readonly stage: 0 | 1 | 2 }) {
  switch (stage) {
    case 0:
      return <Badge tone="off">In queue</Badge>;
    case 1:
      return (
        <Badge tone="wait" icon="bell">
          First alert
        </Badge>
      );
    case 2:
      return (
        <Badge tone="bad" icon="warning">
          Escalated
        </Badge>
      );
  }
}
