import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, runMain } from './bootstrap.mjs';
import { promtool } from './promtool.mjs';
import { runTool, StepError } from './run-tool.mjs';

const RULES = 'docker/observability/prometheus/alerts.yml';
const CONFIGURATION = 'docker/observability/prometheus/prometheus.yml';
const RULE_TESTS = 'docker/observability/prometheus/alerts.test.yml';
const CATALOG = 'libs/telemetry/src/metrics/catalog.ts';
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

/** Every metric of a process, as `/metrics` shows it. */
async function everyMetric() {
  const { METRICS, Metrics } = await import(pathToFileURL(join(ROOT, 'dist/libs/telemetry/src/index.js')).href);
  const metrics = new Metrics();
  metrics.measureProcess();
  const report = { counter: 'add', gauge: 'set', histogram: 'observe' };
  for (const [name, { kind, labels }] of Object.entries(METRICS)) {
    metrics[report[kind]](name, Object.fromEntries(labels.map((label) => [label, 'any'])), 1);
  }
  return (await metrics.scrape()).text;
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
  await check(['check', 'rules', RULES], `Fix ${RULES}.`);
  await check(['check', 'config', CONFIGURATION], `Fix ${CONFIGURATION}.`);
  process.stdout.write(await check(['test', 'rules', RULE_TESTS], `Fix ${RULES} or ${RULE_TESTS}.`));
  const directory = mkdtempSync(join(tmpdir(), 'gapless-dashboard-'));
  try {
    // YAML takes JSON as it is.
    const path = join(directory, 'queries.yml');
    writeFileSync(path, queriesAsRules());
    process.stdout.write(await check(['check', 'rules', path], `Fix the queries of ${DASHBOARD}.`));
    const scraped = join(directory, 'metrics.txt');
    writeFileSync(scraped, await everyMetric());
    await runTool('sh', ['-c', '"$0" check metrics < "$1"', tool, scraped], {
      cwd: ROOT,
      advice: `Correct ${CATALOG}.`,
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
});
