import { Link, type LinkProps } from '@tanstack/react-router';
import { Icon, type IconName } from '../ui/icon.js';

interface Place {
  readonly link: LinkProps;
  readonly icon: IconName;
  readonly text: string;
}

const PLACES: readonly Place[] = [
  { link: { to: '/', activeOptions: { exact: true } }, icon: 'overview', text: 'Overview' },
  { link: { to: '/endpoints' }, icon: 'endpoint', text: 'Endpoints' },
  { link: { to: '/events' }, icon: 'events', text: 'Events' },
  { link: { to: '/cursors' }, icon: 'readers', text: 'Feed readers' },
  { link: { to: '/agents' }, icon: 'send', text: 'Agents' },
  { link: { to: '/catalog' }, icon: 'catalog', text: 'Event catalog' },
  { link: { to: '/alerts' }, icon: 'bell', text: 'Live-chat alerts' },
  { link: { to: '/keys' }, icon: 'key', text: 'API keys' },
  { link: { to: '/audit-log' }, icon: 'shield', text: 'Audit log' },
  { link: { to: '/samples' }, icon: 'code', text: 'Code samples' },
];

export function Navigation({ onNavigate }: { readonly onNavigate?: () => void }) {
  return (
    <nav aria-label="Main" className="navigation">
      <ul>
        {PLACES.map(({ link, icon, text }) => (
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
