import { describe, expect, it } from '@jest/globals';
import { reportTable, type Report } from './report.js';

function report(layout: Report['layout'], ...figures: readonly (readonly [name: string, unit: string])[]): Report {
  const measured = { runs: 2, median: 3, least: 2, most: 4 };
  return {
    scenario: 'growth',
    layout,
    settings: { fsync: 'on' },
    figures: figures.map(([name, unit]) => ({ name, unit, ...measured })),
  };
}

describe('a report', () => {
  it('lists medians and ranges, and how the servers are set', () => {
    expect(reportTable(report('list', ['delivered', '/s'], ['p50', 'ms']))).toBe(
      [
        'growth (fsync = on)',
        '  delivered  3.00  /s  (2.00 – 4.00, n = 2)',
        '  p50        3.00  ms  (2.00 – 4.00, n = 2)',
        '',
      ].join('\n'),
    );
  });

  it('puts figures that grow with something into one table', () => {
    const figures = [
      ['1 org: delivered', '/s'],
      ['1 org: CPU: all', 's'],
      ['2 orgs: CPU: all', 's'],
    ] as const;
    expect(reportTable(report('rows', ...figures))).toBe(
      [
        'growth (fsync = on)',
        '          delivered, /s  CPU: all, s',
        '  1 org            3.00         3.00',
        '  2 orgs                        3.00',
        '',
      ].join('\n'),
    );
  });
});
