import type { ReactNode } from 'react';
import { ApiProblem, failureText } from '../api/api-problem.js';
import { NoAnswer } from '../api/no-answer.js';
import { words } from '../session/wording.js';
import { Button } from './button.js';
import { Icon, type IconName } from './icon.js';
import type { Tone } from './status-badge.js';
import './notice.css';

interface NoticeProps {
  readonly tone: Tone;
  readonly icon?: IconName;
  readonly title: string;
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

/** Something that the reader should know before going on. */
export function Notice({ tone, icon = 'warning', title, actions, children }: NoticeProps) {
  return (
    <div className={`notice notice-${tone}`} role={tone === 'bad' ? 'alert' : 'status'}>
      <Icon name={icon} size={18} />
      <div className="notice-text">
        <p className="notice-title">{title}</p>
        {children !== undefined && <div className="notice-body">{children}</div>}
        {actions !== undefined && <div className="row notice-actions">{actions}</div>}
      </div>
    </div>
  );
}

/** Shows a failure in words, and a button to try again. */
export function FailureNotice({
  error,
  onRetry,
}: {
  readonly error: unknown;
  readonly onRetry?: (() => void) | undefined;
}) {
  const requestId = error instanceof ApiProblem ? error.requestId : null;
  return (
    <Notice
      tone="bad"
      title={titleOf(error)}
      actions={
        onRetry !== undefined && (
          <Button icon="replay" onClick={onRetry}>
            Try again
          </Button>
        )
      }
    >
      <p>{failureText(error)}</p>
      {requestId !== null && (
        <p className="notice-reference">
          Request <code>{requestId}</code>
        </p>
      )}
    </Notice>
  );
}

function titleOf(error: unknown): string {
  if (error instanceof NoAnswer) return 'No answer';
  if (!(error instanceof ApiProblem)) return 'That did not work';
  switch (error.status) {
    case 403:
      return `${words().access} does not allow that`;
    case 404:
      return 'Not found';
    case 429:
      return 'Too many requests';
    default:
      return error.status >= 500 ? `${words().service} is unavailable at the moment` : 'The request was refused';
  }
}

/** Shown where there is no data yet: why, and what to do about it. */
export function EmptyState({
  icon,
  title,
  children,
  action,
}: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ReactNode;
  readonly action?: ReactNode;
}) {
  return (
    <div className="empty">
      <span className="empty-mark">
        <Icon name={icon} size={20} />
      </span>
      <p className="empty-title">{title}</p>
      {children !== undefined && <p className="empty-text">{children}</p>}
      {action}
    </div>
  );
}
