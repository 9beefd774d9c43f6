import { wholeNumber } from './scale.js';
import './charts.css';

interface Share {
  readonly name: string;
  readonly tone: 'good' | 'bad' | 'wait' | 'off';
  readonly value: number;
}

/** Shows the parts of a whole: a bar, and the figures below it. */
export function ShareBar({ shares }: { readonly shares: readonly Share[] }) {
  const total = shares.reduce((sum, { value }) => sum + value, 0);
  return (
    <div className="shares">
      <div className="share-bar" aria-hidden="true">
        {shares
          .filter(({ value }) => value > 0)
          .map(({ name, tone, value }) => (
            <span key={name} className={`share share-${tone}`} style={{ flexGrow: value }} />
          ))}
      </div>
      <dl className="share-list">
        {shares.map(({ name, tone, value }) => (
          <div key={name} className="share-item">
            <dt>
              <span className={`share-dot share-${tone}`} />
              {name}
            </dt>
            <dd className="numeric">
              {wholeNumber(value)}
              <span className="muted share-percent">{total === 0 ? '' : percentText(value / total)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </div>
  );
}

/** Never rounds to 0 or 100 % if that would hide a small part. */
function percentText(share: number): string {
  if (share > 0 && share < 0.001) return '< 0.1 %';
  if (share < 1 && share > 0.999) return '> 99.9 %';
  return `${(share * 100).toFixed(share === 0 || share === 1 ? 0 : 1)} %`;
}
