import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement } from 'react';
import { Icon, type IconName } from './icon.js';
import './menu.css';

/** An action of a menu. */
export interface MenuAction {
  readonly icon: IconName;
  readonly text: string;
  readonly danger?: boolean;
  readonly disabled?: boolean;
  readonly onSelect: () => void;
}

export function Menu({
  trigger,
  actions,
}: {
  readonly trigger: ReactElement;
  readonly actions: readonly MenuAction[];
}) {
  return (
    <Base.Root modal={false}>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className="menu-positioner" sideOffset={4} align="end">
          <Base.Popup className="menu">
            {actions.map(({ icon, text, danger = false, disabled = false, onSelect }) => (
              <Base.Item
                key={text}
                className={danger ? 'menu-item menu-item-danger' : 'menu-item'}
                disabled={disabled}
                onClick={onSelect}
              >
                <Icon name={icon} />
                {text}
              </Base.Item>
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
