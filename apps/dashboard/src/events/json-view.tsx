import { CopyIcon } from '../ui/copy-button.js';
import { jsonPieces, spacedJson } from './json-text.js';
import '../ui/code-block.css';
import './json-view.css';

/** Shows JSON, spaced and coloured. Copying copies the text as it is shown. */
export function JsonView({ raw, title }: { readonly raw: string; readonly title: string }) {
  const text = spacedJson(raw);
  return (
    <figure className="code-block">
      <figcaption className="code-caption">
        <span>{title}</span>
        <CopyIcon text={text} what={title} />
      </figcaption>
      <pre className="code code-wrap" tabIndex={0} role="region" aria-label={title}>
        {jsonPieces(text).map(({ kind, text: piece }, index) =>
          kind === 'plain' ? (
            piece
          ) : (
            <span key={index} className={`json-${kind}`}>
              {piece}
            </span>
          ),
        )}
      </pre>
    </figure>
  );
}
