import { CopyIcon } from './copy-button.js';
import './code-block.css';

interface CodeBlockProps {
  readonly text: string;
  /** Names the content, for the copy button and screen readers. */
  readonly what: string;
  readonly title?: string;
  /** Whether long lines wrap, or scroll to keep their shape. */
  readonly wrap?: boolean;
}

export function CodeBlock({ text, what, title, wrap = false }: CodeBlockProps) {
  return (
    <figure className="code-block">
      <figcaption className="code-caption">
        <span className="truncate">{title ?? what}</span>
        <CopyIcon text={text} what={what} />
      </figcaption>
      {/* The keyboard has to reach everything that scrolls. */}
      <pre className={wrap ? 'code code-wrap' : 'code'} tabIndex={0} role="region" aria-label={title ?? what}>
        {text}
      </pre>
    </figure>
  );
}
