import { useState, type PointerEvent } from 'react';
import { axisTime } from '../time/time-text.js';
import { axisMaximum, shortNumber, wholeNumber } from './scale.js';
import { useWidth } from './use-width.js';
import './charts.css';

export type SeriesTone = 'accent' | 'good' | 'bad';

/** Values of a chart: stacked bars, or a line above them. */
export interface Series {
  readonly name: string;
  readonly tone: SeriesTone;
  readonly kind: 'bar' | 'line';
  readonly values: readonly number[];
}

interface TimeChartProps {
  /** Describes the chart to people who cannot see it. */
  readonly label: string;
  /** When the time span of each value begins, as ISO text. */
  readonly times: readonly string[];
  readonly series: readonly Series[];
}

const HEIGHT = 184;
const INSET = { top: 8, right: 2, bottom: 22, left: 34 };
const CUT_MARK_WIDTH = 48;
const GRID = [0, 0.5, 1];
const DAY_MS = 24 * 60 * 60 * 1_000;

/** Values over time. A range input lies over it, so that every value can be read by pointer, touch and keyboard. */
export function TimeChart({ label, times, series }: TimeChartProps) {
  const [frame, width] = useWidth<HTMLDivElement>();
  const [read, setRead] = useState<number | null>(null);
  const bars = series.filter(({ kind }) => kind === 'bar');
  const plot = { width: Math.max(0, width - INSET.left - INSET.right), height: HEIGHT - INSET.top - INSET.bottom };
  const stacks = times.map((_, index) => sum(bars.map(({ values }) => values[index] ?? 0)));
  const lines = series.filter(({ kind }) => kind === 'line');
  const tops = stacks.map((stack, index) => Math.max(stack, ...lines.map(({ values }) => values[index] ?? 0)));
  const max = axisMaximum([...stacks, ...lines.flatMap(({ values }) => values)]);
  const slot = times.length === 0 ? 0 : plot.width / times.length;
  const yOf = (value: number) => INSET.top + plot.height * (1 - Math.min(1, value / max));
  const spansDays = spanOf(times) > DAY_MS;
  const shown = read !== null && read < times.length ? read : null;

  const follow = (event: PointerEvent<HTMLDivElement>) => {
    const x = event.clientX - event.currentTarget.getBoundingClientRect().left - INSET.left;
    setRead(slot === 0 ? null : Math.min(times.length - 1, Math.max(0, Math.floor(x / slot))));
  };

  return (
    <figure className="chart">
      <Readout {...{ times, series, shown, spansDays }} />
      <div
        ref={frame}
        className="chart-frame"
        style={{ height: HEIGHT }}
        onPointerMove={follow}
        onPointerLeave={() => {
          setRead(null);
        }}
      >
        <svg width={width} height={HEIGHT} aria-hidden="true">
          {GRID.map((share) => (
            <g key={share}>
              <line
                className="chart-grid"
                x1={INSET.left}
                x2={width - INSET.right}
                y1={yOf(max * share)}
                y2={yOf(max * share)}
              />
              <text className="chart-axis" x={INSET.left - 6} y={yOf(max * share) + 4} textAnchor="end">
                {shortNumber(max * share)}
              </text>
            </g>
          ))}
          {shown !== null && (
            <rect
              className="chart-cursor"
              x={INSET.left + shown * slot}
              y={INSET.top}
              width={slot}
              height={plot.height}
            />
          )}
          <Bars {...{ bars, slot, yOf }} count={times.length} />
          <CutMarks values={tops} max={max} slot={slot} />
          {lines.map(({ name, tone, values }) => (
            <path key={name} className={`chart-line chart-stroke-${tone}`} d={linePath(values, slot, yOf)} />
          ))}
          {axisMarks(times).map(({ iso, at, anchor }) => (
            <text key={at} className="chart-axis" x={INSET.left + at * plot.width} y={HEIGHT - 5} textAnchor={anchor}>
              {axisTime(iso, spansDays)}
            </text>
          ))}
        </svg>
        <input
          type="range"
          className="chart-scrub"
          aria-label={`${label}: read along`}
          aria-valuetext={shown === null ? 'no moment chosen' : readText(times, series, shown, spansDays)}
          min={0}
          max={Math.max(0, times.length - 1)}
          value={shown ?? Math.max(0, times.length - 1)}
          onChange={(event) => {
            setRead(event.target.valueAsNumber);
          }}
          onBlur={() => {
            setRead(null);
          }}
        />
      </div>
    </figure>
  );
}

function Bars({
  bars,
  slot,
  yOf,
  count,
}: {
  readonly bars: readonly Series[];
  readonly slot: number;
  readonly yOf: (value: number) => number;
  readonly count: number;
}) {
  const width = Math.max(1, slot - Math.min(3, slot * 0.25));
  return Array.from({ length: count }, (_, index) => {
    let below = 0;
    return bars.map(({ name, tone, values }) => {
      const value = values[index] ?? 0;
      const top = yOf(below + value);
      const height = yOf(below) - top;
      below += value;
      if (value === 0) return null;
      return (
        <rect
          key={`${index} ${name}`}
          className={`chart-fill-${tone}`}
          x={INSET.left + index * slot + (slot - width) / 2}
          y={top}
          width={width}
          height={Math.max(1.5, height)}
          rx={Math.min(1.5, width / 4)}
        />
      );
    });
  });
}

/** The values that are higher than the axis. Neighbours that would overlap share the highest. */
function CutMarks({
  values,
  max,
  slot,
}: {
  readonly values: readonly number[];
  readonly max: number;
  readonly slot: number;
}) {
  let lastX = Number.NEGATIVE_INFINITY;
  return values.map((value, index) => {
    const x = INSET.left + (index + 0.5) * slot;
    if (value <= max || x - lastX < CUT_MARK_WIDTH) return null;
    lastX = x;
    const isLate = index > values.length / 2;
    return (
      <text
        key={index}
        className="chart-axis chart-cut"
        x={isLate ? x - slot / 2 - 3 : x + slot / 2 + 3}
        y={INSET.top + 10}
        textAnchor={isLate ? 'end' : 'start'}
      >
        ↑ {shortNumber(value)}
      </text>
    );
  });
}

/** The legend, with the values at the selected moment. It always has the same place, so that nothing moves. */
function Readout({
  times,
  series,
  shown,
  spansDays,
}: Pick<TimeChartProps, 'times' | 'series'> & { readonly shown: number | null; readonly spansDays: boolean }) {
  const iso = shown === null ? undefined : times[shown];
  return (
    <figcaption className="chart-legend">
      {series.map(({ name, tone, kind, values }) => (
        <span key={name} className="chart-key">
          <span className={`chart-swatch chart-swatch-${kind} chart-swatch-${tone}`} />
          {name}
          <strong className="numeric">{wholeNumber(shown === null ? sum(values) : (values[shown] ?? 0))}</strong>
        </span>
      ))}
      <span className="chart-moment numeric">{iso === undefined ? 'in all' : axisTime(iso, spansDays)}</span>
    </figcaption>
  );
}

function readText(times: readonly string[], series: readonly Series[], index: number, spansDays: boolean): string {
  const values = series.map(({ name, values: all }) => `${wholeNumber(all[index] ?? 0)} ${name.toLowerCase()}`);
  return `${axisTime(times[index] ?? '', spansDays)}: ${values.join(', ')}`;
}

function linePath(values: readonly number[], slot: number, yOf: (value: number) => number): string {
  return values
    .map(
      (value, index) =>
        `${index === 0 ? 'M' : 'L'}${(INSET.left + (index + 0.5) * slot).toFixed(1)} ${yOf(value).toFixed(1)}`,
    )
    .join('');
}

function axisMarks(
  times: readonly string[],
): readonly { iso: string; at: number; anchor: 'start' | 'middle' | 'end' }[] {
  const [first, middle, last] = [times[0], times[Math.floor(times.length / 2)], times.at(-1)];
  if (first === undefined || middle === undefined || last === undefined) return [];
  return [
    { iso: first, at: 0, anchor: 'start' },
    { iso: middle, at: 0.5, anchor: 'middle' },
    { iso: last, at: 1, anchor: 'end' },
  ];
}

function spanOf(times: readonly string[]): number {
  const [first, last] = [times[0], times.at(-1)];
  return first === undefined || last === undefined ? 0 : new Date(last).getTime() - new Date(first).getTime();
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
