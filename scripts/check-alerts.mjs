import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, runMain } from './bootstrap.mjs';
import { promtool } from './promtool.mjs';
import { runTool, StepError } from './run-tool.mjs';

const RULES = 'docker/observability/prometheus/alerts.yml';
const CONFIGURATION = 'docker/observability/prometheus/prometheus.yml';
const RULE_TESTS = 'docker/observability/prometheus/alerts.test.yml';
const DASHBOARD = 'docker/observability/grafana/gapless.json';

/** @returns {string[]} the names that follow `key` in the file. */
function namesIn(path, pattern) {
  return [...readFileSync(join(ROOT, path), 'utf8').matchAll(pattern)].map(([, name]) => name);
}

/** Each alert has to be shown once as it fires and once as it does not. */
function checkEachIsTested() {
  const tested = namesIn(RULE_TESTS, /- name: (\w+ (?:fires|rests))$/gm);
  const missing = namesIn(RULES, /- alert: (\w+)$/gm)
    .flatMap((alert) => [`${alert} fires`, `${alert} rests`])
    .filter((name) => !tested.includes(name));
  if (missing.length > 0) throw new StepError(`${RULE_TESTS} lacks:\n  ${missing.join('\n  ')}`);
}

/** The dashboard's queries as recording rules, which promtool reads. */
function queriesAsRules() {
  const { panels } = JSON.parse(readFileSync(join(ROOT, DASHBOARD), 'utf8'));
  const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const rules = queries.map((query, index) => ({
    record: `dashboard:query_${index}`,
    expr: query.replaceAll('$__rate_interval', '5m'),
  }));
  return JSON.stringify({ groups: [{ name: 'dashboard', rules }] });
}

await runMain(async () => {
  const tool = await promtool(ROOT).catch((error) => {
    // Where things are merged nothing is left out; elsewhere somebody may have no way to get it.
    if (process.env.CI || !(error instanceof StepError)) throw error;
    console.error(`NOT CHECKED: the alerts and the dashboard's queries.\n${error.message}`);
    return undefined;
  });
  checkEachIsTested();
  if (tool === undefined) return;
  const check = (args, advice) => runTool(tool, args, { cwd: ROOT, advice });
  await check(['check', 'rules', RULES], `Mend ${RULES}.`);
  await check(['check', 'config', CONFIGURATION], `Mend ${CONFIGURATION}.`);
  process.stdout.write(await check(['test', 'rules', RULE_TESTS], `Mend ${RULES} or ${RULE_TESTS}.`));
  const directory = mkdtempSync(join(tmpdir(), 'gapless-dashboard-'));
  try {
    // YAML takes JSON as it is.
    const path = join(directory, 'queries.yml');
    writeFileSync(path, queriesAsRules());
    process.stdout.write(await check(['check', 'rules', path], `Mend the queries of ${DASHBOARD}.`));
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
