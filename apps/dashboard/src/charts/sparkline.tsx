import { wholeNumber } from './scale.js';
import './charts.css';

interface SparklineProps {
  /** `undefined` if they are not known. Then only the place of the chart is kept. */
  readonly buckets: readonly { readonly delivered: number; readonly failed_attempts: number }[] | undefined;
  /** The period that is shown: `24 hours`. */
  readonly span: string;
}

const WIDTH = 120;
const HEIGHT = 26;

/** Shows the activity of an endpoint: deliveries, with failed attempts on top. */
export function Sparkline({ buckets, span }: SparklineProps) {
  if (buckets === undefined) return <span className="sparkline" style={{ width: WIDTH, height: HEIGHT }} />;
  const max = Math.max(1, ...buckets.map(({ delivered, failed_attempts: failed }) => delivered + failed));
  const slot = WIDTH / Math.max(1, buckets.length);
  const heightOf = (value: number) => (value === 0 ? 0 : Math.max(1.5, (value / max) * (HEIGHT - 2)));
  const delivered = buckets.reduce((total, bucket) => total + bucket.delivered, 0);
  const failed = buckets.reduce((total, bucket) => total + bucket.failed_attempts, 0);
  return (
    <svg
      className="sparkline"
      width={WIDTH}
      height={HEIGHT}
      role="img"
      aria-label={`${wholeNumber(delivered)} delivered, ${wholeNumber(failed)} failed attempts in ${span}`}
    >
      <line className="chart-grid" x1={0} x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
      {buckets.map((bucket, index) => {
        const good = heightOf(bucket.delivered);
        const bad = heightOf(bucket.failed_attempts);
        const bar = { x: index * slot + 0.5, width: Math.max(1, slot - 1), rx: 0.75 };
        return (
          <g key={index}>
            {good > 0 && <rect className="chart-fill-good" {...bar} y={HEIGHT - good} height={good} />}
            {bad > 0 && <rect className="chart-fill-bad" {...bar} y={Math.max(0, HEIGHT - good - bad)} height={bad} />}
          </g>
        );
      })}
    </svg>
  );
}
