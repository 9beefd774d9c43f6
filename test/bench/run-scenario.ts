import { Bench } from './bench.js';
import { figure, figuresOf, type Figure } from './figures/figure.js';
import { sharesText } from './flame/owner-shares.js';
import type { NamedStretch } from './flame/write-flame-graphs.js';
import type { Scenario } from './scenario.js';
import type { Session } from './session.js';

/** Runs the scenario once and removes what it made, however it ends. @throws why it could not go on */
export async function runScenario(
  scenario: Scenario,
  session: Session,
  print: (progress: string) => void,
): Promise<readonly Figure[]> {
  const timeLimit = new AbortController();
  const timer = setTimeout(() => {
    timeLimit.abort(new Error(`${scenario.name} took longer than ${scenario.limitMs / 1_000} s`));
  }, scenario.limitMs);
  const stretches: NamedStretch[] = [];
  const bench = new Bench(session, {
    signal: AbortSignal.any([session.signal, timeLimit.signal]),
    print,
    noteStretch: (stretch) => stretches.push(stretch),
  });
  const aborted = new Promise<never>((_, fail) => {
    bench.signal.addEventListener('abort', () => {
      fail(bench.signal.reason as Error);
    });
  });
  try {
    return await Promise.race([withBareLoop(scenario, bench), aborted]);
  } catch (error) {
    throw bench.signal.aborted ? bench.signal.reason : error;
  } finally {
    clearTimeout(timer);
    await bench.end();
    for (const { path, shares } of session.profiling.draw(scenario.name, stretches)) {
      print(`drew ${path}: ${sharesText(shares)}`);
    }
  }
}

/** A figure says little without what the machine could do at that moment. */
async function withBareLoop(scenario: Scenario, bench: Bench): Promise<readonly Figure[]> {
  if (scenario.timesBareLoop) return scenario.run(bench);
  const before = figuresOf('before', [figure('bare loop', await bench.bareLoop(), 'requests/s')]);
  return [...before, ...(await scenario.run(bench))];
}
