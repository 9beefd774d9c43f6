import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Link, type LinkProps } from '@tanstack/react-router';
import { Icon, type IconName } from './icon.js';
import './button.css';

type Look = 'solid' | 'outline' | 'ghost' | 'danger';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly look?: Look;
  readonly icon?: IconName;
  /** Whether its work is in progress: the button shows that, and cannot be pressed again. */
  readonly busy?: boolean;
}

export function Button({ look = 'outline', icon, busy = false, disabled, children, className, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${look} ${className ?? ''}`}
      disabled={disabled === true || busy}
      aria-busy={busy}
    >
      {busy ? <span className="spinner" aria-hidden="true" /> : icon !== undefined && <Icon name={icon} />}
      {children}
    </button>
  );
}

interface IconButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'children'> {
  readonly icon: IconName;
  /** Describes the button for screen readers, and as a tooltip. */
  readonly label: string;
}

export function IconButton({ icon, label, className, ...rest }: IconButtonProps) {
  return (
    <button type="button" {...rest} className={`icon-button ${className ?? ''}`} aria-label={label} title={label}>
      <Icon name={icon} />
    </button>
  );
}

interface ButtonLinkProps {
  readonly look?: Look;
  readonly icon?: IconName;
  readonly children: ReactNode;
}

/** A link that looks like a button, because it leads to the main action of a page. */
export function ButtonLink({ look = 'outline', icon, children, ...link }: ButtonLinkProps & LinkProps) {
  return (
    <Link {...link} className={`button button-${look}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  );
}
