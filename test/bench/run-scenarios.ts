import type { Figure } from './figures/figure.js';
import type { Report } from './figures/report.js';
import { summarise } from './figures/summary.js';
import { runScenario } from './run-scenario.js';
import type { Scenario } from './scenario.js';
import type { Session } from './session.js';

/** A scenario, and how often it is run. */
export interface PlannedScenario {
  readonly scenario: Scenario;
  readonly runs: number;
}

/**
 * Runs one scenario after the other.
 * @param print progress, in words
 * @param report is called with what each of them found, once it is through
 * @throws why one of them could not go on
 */
export async function runScenarios(
  plan: readonly PlannedScenario[],
  session: Session,
  print: (progress: string) => void,
  report: (report: Report) => void,
): Promise<readonly Report[]> {
  const reports: Report[] = [];
  for (const { scenario, runs } of plan) {
    const found: (readonly Figure[])[] = [];
    for (let run = 1; run <= runs; run++) {
      const name = runs > 1 ? `${scenario.name} ${run}/${runs}` : scenario.name;
      found.push(
        await runScenario(scenario, session, (progress) => {
          print(`${name}: ${progress}`);
        }),
      );
    }
    const one: Report = {
      scenario: scenario.name,
      layout: scenario.layout ?? 'list',
      figures: summarise(found),
      settings: session.settings,
    };
    reports.push(one);
    report(one);
  }
  return reports;
}
