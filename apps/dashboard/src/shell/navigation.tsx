import { Link } from '@tanstack/react-router';
import { Icon } from '../ui/icon.js';
import type { Place } from './places.js';

interface NavigationProps {
  readonly places: readonly Place[];
  readonly className?: string;
  readonly onNavigate?: () => void;
}

export function Navigation({ places, className = 'navigation', onNavigate }: NavigationProps) {
  return (
    <nav aria-label="Main" className={className}>
      <ul>
        {places.map(({ link, icon, text }) => (
          <li key={text}>
            <Link {...link} className="navigation-link" onClick={onNavigate}>
              <Icon name={icon} />
              {text}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  );
}
