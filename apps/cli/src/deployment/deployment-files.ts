import { STAGE_NODE_OPTIONS } from '#libs/local-installation';
import { SETTINGS, STAGE_NAMES, STAGES } from '#libs/runtime';
import { replaceLines } from './marked-lines.js';
import { helmStages, helmValues, kustomizeStages } from './stage-manifests.js';

const NODE_OPTIONS = STAGE_NODE_OPTIONS.join(' ');
const PORTS = STAGE_NAMES.map((stage) => STAGES[stage].port).join(' ');

/** The settings that the image also takes from files. */
const FROM_FILES = Object.values(SETTINGS)
  .map(({ name }) => name)
  .filter((name) => !name.endsWith('_FILE'))
  .join(' ');

/** Returns the services of the stages. The api publishes its port, so each compose file has its own. */
function composeServices(): readonly string[] {
  return STAGE_NAMES.filter((stage) => stage !== 'api').flatMap((stage, index) => [
    ...(index === 0 ? [] : ['']),
    `${stage}:`,
    '  <<: *stage',
    `  command: [${stage}]`,
  ]);
}

function scrapeConfigs(): readonly string[] {
  return STAGE_NAMES.flatMap((stage) => [
    `- job_name: gapless-${stage}`,
    `  dns_sd_configs: [{ names: [${stage}], type: A, port: ${STAGES[stage].port}, refresh_interval: 15s }]`,
  ]);
}

/** The query of the stages, the api aside, that no process runs. A process that waits for its start counts as running. */
function missingStages(): readonly string[] {
  const absent = STAGE_NAMES.filter((stage) => stage !== 'api').map(
    (stage) => `absent(gapless_build_info{app="${stage}"})`,
  );
  return [
    'expr: |',
    '  (',
    ...absent.map((query, index) => `    ${index === 0 ? '' : 'or '}${query}`),
    '  ) unless on () gapless_build_info{app="standalone"}',
  ];
}

function nestProjects(): string {
  const projects = ['standalone', ...STAGE_NAMES].map((app) => {
    const root = `"root": "apps/${app}", "sourceRoot": "apps/${app}/src"`;
    return `\n    "${app}": { "type": "application", ${root} }`;
  });
  return `"projects": {${projects.join(',')}\n  }`;
}

/**
 * The files that name every stage, or how to run one, and the function that updates each of them. They follow the list of
 * stages, the settings and Node's options.
 */
export const DEPLOYMENT_FILES: Readonly<Record<string, (text: string) => string>> = {
  'package.json': (text) => text.replace(/("start": "exec node ).*?( scripts)/, `$1${NODE_OPTIONS}$2`),
  'nest-cli.json': (text) => text.replace(/"projects": \{[^]*?\n {2}\}/, nestProjects()),
  'docker/Dockerfile': (text) => replaceLines(text, 'ports', [`EXPOSE ${PORTS}`]),
  'docker/image/gapless': (text) =>
    replaceLines(text, 'settings and options', [`settings='${FROM_FILES}'`, `node_options='${NODE_OPTIONS}'`]),
  'docker/image/gapless-health': (text) => replaceLines(text, 'ports', [`ports='${PORTS}'`]),
  'docker/compose.yaml': (text) => replaceLines(text, 'stages', composeServices()),
  'docker/compose.cluster.yaml': (text) => replaceLines(text, 'stages', composeServices()),
  'docker/observability/prometheus/prometheus.yml': (text) => replaceLines(text, 'stages', scrapeConfigs()),
  'docker/observability/prometheus/alerts.yml': (text) => replaceLines(text, 'stages', missingStages()),
  'docker/kubernetes/stages.yaml': kustomizeStages,
  'docker/helm/values.yaml': (text) => replaceLines(text, 'stages', helmValues()),
  'docker/helm/templates/stages.yaml': helmStages,
};
