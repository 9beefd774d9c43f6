import { Link } from '@tanstack/react-router';
import { useSession } from '../session/use-session.js';
import { Icon } from '../ui/icon.js';
import { placesFor } from './places.js';

export function Navigation({ onNavigate }: { readonly onNavigate?: () => void }) {
  return (
    <nav aria-label="Main" className="navigation">
      <ul>
        {placesFor(useSession()).map(({ link, icon, text }) => (
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
