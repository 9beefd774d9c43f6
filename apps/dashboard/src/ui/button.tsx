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
  /** Why the button cannot be pressed now. */
  readonly reason?: string | undefined;
}

export function Button({
  look = 'outline',
  icon,
  busy = false,
  reason,
  children,
  className,
  onClick,
  ...rest
}: ButtonProps) {
  const isOff = busy || reason !== undefined;
  return (
    <button
      type="button"
      {...rest}
      className={`button button-${look} ${className ?? ''}`}
      // Not `disabled`: that would take the focus away, and hide the reason from keyboards.
      aria-disabled={isOff || undefined}
      aria-description={reason}
      title={reason ?? rest.title}
      aria-busy={busy}
      onClick={(event) => {
        if (isOff) event.preventDefault();
        else onClick?.(event);
      }}
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
  /** Why the link leads nowhere now. */
  readonly reason?: string | undefined;
}

/** A link that looks like a button, because it leads to the main action of a page. */
export function ButtonLink({ look = 'outline', icon, children, reason, ...link }: ButtonLinkProps & LinkProps) {
  if (reason !== undefined) {
    return (
      <a
        role="link"
        className={`button button-${look}`}
        aria-disabled="true"
        aria-description={reason}
        title={reason}
        tabIndex={0}
      >
        {icon !== undefined && <Icon name={icon} />}
        {children}
      </a>
    );
  }
  return (
    <Link {...link} className={`button button-${look}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children}
    </Link>
  );
}
