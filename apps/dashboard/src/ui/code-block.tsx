import { CopyIcon } from './copy-button.js';
import './code-block.css';

interface CodeBlockProps {
  readonly text: string;
  /** What it is, for who copies it or does not see where it stands. */
  readonly what: string;
  readonly title?: string;
  /** Whether long lines are broken to be read, or scrolled to keep their shape. */
  readonly wrap?: boolean;
}

export function CodeBlock({ text, what, title, wrap = false }: CodeBlockProps) {
  return (
    <figure className="code-block">
      <figcaption className="code-caption">
        <span className="truncate">{title ?? what}</span>
        <CopyIcon text={text} what={what} />
      </figcaption>
      {/* What scrolls has to be reached by the keyboard. */}
      <pre className={wrap ? 'code code-wrap' : 'code'} tabIndex={0} role="region" aria-label={title ?? what}>
        {text}
      </pre>
    </figure>
  );
}
