import { SETTINGS, STAGE_NAMES, STAGES, type Setting, type StageName } from '#libs/runtime';

/** What a stage gets on Kubernetes. */
interface Workload {
  readonly replicas: number;
  /** The CPU that a pod requests. It has no limit, because a throttled process misses its sessions. */
  readonly cpu: string;
  /** The most pods, if the stage scales by CPU. At most `PARTITIONS`: further pods would get none. */
  readonly maxReplicas?: number;
  /** How long a terminating pod serves clients that do not know of it yet. */
  readonly drainSeconds?: number;
}

const MEMORY = '384Mi';
const USUAL: Workload = { replicas: 2, cpu: '250m' };
const UNUSUAL: Partial<Record<StageName, Partial<Workload>>> = {
  api: { maxReplicas: 6, drainSeconds: 5 },
  dispatcher: { maxReplicas: 6 },
  alerting: { cpu: '100m' },
};

function workloadOf(stage: StageName): Workload & { readonly port: number } {
  return { port: STAGES[stage].port, ...USUAL, ...UNUSUAL[stage] };
}

/** The parts of a stage's manifest that differ, as text. */
interface ManifestWords {
  readonly name: string;
  readonly stage: string;
  readonly port: string;
  /** The number of pods, as lines. A scaler sets it itself: a number here would undo its choice at each upgrade. */
  readonly replicas: readonly string[];
  readonly cpu: string;
  /** The most memory of a pod. */
  readonly memory: string;
  readonly selector: string;
  readonly image: string;
  readonly settings: string;
  /** The volume of the secret's files, as lines. */
  readonly secretVolume: readonly string[];
  readonly moreAnnotations: readonly string[];
  readonly pullSecrets: readonly string[];
  readonly drain: readonly string[];
  readonly scaler: readonly string[];
}

function indented(spaces: number, lines: readonly string[]): string {
  return lines.map((line) => `\n${' '.repeat(spaces)}${line}`).join('');
}

function drain(seconds: string): readonly string[] {
  return [
    'lifecycle:',
    '  # Clients learn late that a pod terminates.',
    `  preStop: { exec: { command: [sleep, '${seconds}'] } }`,
  ];
}

function scaler(
  words: Pick<ManifestWords, 'name' | 'selector'>,
  minReplicas: string,
  maxReplicas: string,
): readonly string[] {
  return `---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: ${words.name}
  labels: { ${words.selector}, app.kubernetes.io/part-of: gapless }
spec:
  scaleTargetRef: { apiVersion: apps/v1, kind: Deployment, name: ${words.name} }
  minReplicas: ${minReplicas}
  maxReplicas: ${maxReplicas}
  metrics:
    - type: Resource
      resource:
        name: cpu
        # Of the requested CPU: half a core of 250m.
        target: { type: Utilization, averageUtilization: 200 }
  behavior:
    # Each change makes the members of the group begin again, so a short calm changes nothing.
    scaleDown: { stabilizationWindowSeconds: 600 }`.split('\n');
}

function manifest(words: ManifestWords): string {
  const labels = `{ ${words.selector}, app.kubernetes.io/part-of: gapless }`;
  return `---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${words.name}
  labels: ${labels}
spec:${indented(2, words.replicas)}
  revisionHistoryLimit: 5
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  selector:
    matchLabels: { ${words.selector} }
  template:
    metadata:
      labels: ${labels}
      annotations:
        prometheus.io/scrape: 'true'
        prometheus.io/path: /metrics
        prometheus.io/port: '${words.port}'${indented(8, words.moreAnnotations)}
    spec:${indented(6, words.pullSecrets)}
      automountServiceAccountToken: false
      enableServiceLinks: false
      terminationGracePeriodSeconds: 30
      securityContext:
        runAsNonRoot: true
        runAsUser: 10001
        runAsGroup: 10001
        fsGroup: 10001
        seccompProfile: { type: RuntimeDefault }
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: { ${words.selector} }
      containers:
        - name: ${words.stage}
          image: ${words.image}
          args: [${words.stage}]
          ports:
            - { name: http, containerPort: ${words.port} }
          envFrom:
            - configMapRef: { name: ${words.settings} }
          volumeMounts:
            - { name: secrets, mountPath: /secrets, readOnly: true }
          startupProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 2
            failureThreshold: 30
          livenessProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 3
          readinessProbe:
            httpGet: { path: /health/ready, port: http }
            periodSeconds: 5
            timeoutSeconds: 5
            failureThreshold: 2${indented(10, words.drain)}
          resources:
            requests: { cpu: ${words.cpu}, memory: 128Mi }
            # No limit of CPU: a throttled process misses its sessions.
            limits: { memory: ${words.memory} }
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities: { drop: [ALL] }
      volumes:
        - name: secrets${indented(10, words.secretVolume)}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: ${words.name}
  labels: ${labels}
spec:
  maxUnavailable: 1
  selector:
    matchLabels: { ${words.selector} }${indented(0, words.scaler)}
`;
}

const REQUIRED_SECRETS = ['database-url', 'secret-encryption-keys'];
/** `sslrootcert` of an url may name its file. */
const POSTGRES_CA = 'postgres-ca';

/** Returns the names of all secrets that a stage may read from files: `kafka-password` is `KAFKA_PASSWORD`. */
function optionalSecrets(): readonly string[] {
  const settings: readonly Setting<unknown>[] = Object.values(SETTINGS);
  return settings
    .filter(({ name, isSecret }) => isSecret || name.endsWith('_FILE'))
    .map(({ name }) =>
      name
        .replace(/_FILE$/, '')
        .toLowerCase()
        .replaceAll('_', '-'),
    )
    .filter((name) => !REQUIRED_SECRETS.includes(name))
    .concat(POSTGRES_CA);
}

const DEFAULT_MODE = 'defaultMode: 288 # 0440';

function item(key: string): string {
  return `- { key: ${key}, path: ${key} }`;
}

/** Names the keys one by one, because the owner's account is in the same Secret. */
function kustomizeSecretVolume(): readonly string[] {
  const source = (keys: readonly string[], ...more: readonly string[]) => [
    '    - secret:',
    '        name: gapless-secrets',
    ...more.map((line) => `        ${line}`),
    '        items:',
    ...keys.map((key) => `          ${item(key)}`),
  ];
  return [
    'projected:',
    `  ${DEFAULT_MODE}`,
    '  sources:',
    ...source(REQUIRED_SECRETS),
    ...source(optionalSecrets(), '# Those that the Secret has.', 'optional: true'),
  ];
}

/** Returns the manifests of every stage, for kustomize. */
export function kustomizeStages(): string {
  const manifests = STAGE_NAMES.map((stage) => {
    const { port, replicas, cpu, maxReplicas, drainSeconds } = workloadOf(stage);
    const words = { name: stage, selector: `app.kubernetes.io/name: ${stage}` };
    return manifest({
      ...words,
      stage,
      port: String(port),
      replicas: maxReplicas === undefined ? [`replicas: ${replicas}`] : [],
      cpu,
      image: 'gapless',
      settings: 'gapless-settings',
      secretVolume: kustomizeSecretVolume(),
      memory: MEMORY,
      moreAnnotations: [],
      pullSecrets: [],
      drain: drainSeconds === undefined ? [] : drain(String(drainSeconds)),
      scaler: maxReplicas === undefined ? [] : scaler(words, String(replicas), String(maxReplicas)),
    });
  });
  return `# Every stage of libs/runtime/src/stages.ts; npm run generate writes this file.\n${manifests.join('')}`;
}

/** Returns the chart's template of the stages: the same manifests, with the chart's values. */
export function helmStages(): string {
  const words = {
    name: '{{ $.Release.Name }}-{{ $name }}',
    selector: 'app.kubernetes.io/name: {{ $name }}, app.kubernetes.io/instance: {{ $.Release.Name | quote }}',
  };
  const template = manifest({
    ...words,
    stage: '{{ $name }}',
    port: '{{ $stage.port }}',
    replicas: ['{{- if not $stage.maxReplicas }}', 'replicas: {{ $stage.replicas }}', '{{- end }}'],
    cpu: '{{ $stage.cpu }}',
    memory: `{{ $stage.memory | default "${MEMORY}" }}`,
    pullSecrets: [
      '{{- with $.Values.image.pullSecrets }}',
      'imagePullSecrets:',
      '  {{- range . }}',
      '  - { name: {{ . | quote }} }',
      '  {{- end }}',
      '{{- end }}',
    ],
    image:
      '{{ with $stage.tag }}{{ $.Values.image.repository }}:{{ . }}{{ else }}{{ include "gapless.image" $ }}{{ end }}',
    settings: '{{ $.Release.Name }}-settings',
    secretVolume: [
      'secret:',
      '  secretName: {{ include "gapless.secret" $ }}',
      `  ${DEFAULT_MODE}`,
      '  items:',
      '    {{- range splitList "," (include "gapless.secretKeys" $) }}',
      `    ${item('{{ . }}')}`,
      '    {{- end }}',
    ],
    // A pod reads its settings and secrets when it starts, so a change of them replaces the pods.
    moreAnnotations: ['settings', 'secrets'].map(
      (name) => `checksum/${name}: {{ include (print $.Template.BasePath "/${name}.yaml") $ | sha256sum }}`,
    ),
    drain: ['{{- if $stage.drainSeconds }}', ...drain('{{ $stage.drainSeconds }}'), '{{- end }}'],
    scaler: [
      '{{- if $stage.maxReplicas }}',
      ...scaler(words, '{{ $stage.replicas }}', '{{ $stage.maxReplicas }}'),
      '{{- end }}',
    ],
  });
  return `{{- /* Every stage of values.yaml; npm run generate writes this file. */}}
{{- range $name, $stage := .Values.stages }}
${template}{{- end }}
`;
}

/** Returns the stages as lines of the chart's values. */
export function helmValues(): readonly string[] {
  const shown = (stage: StageName) =>
    Object.entries(workloadOf(stage))
      .map(([name, value]) => `${name}: ${String(value)}`)
      .join(', ');
  return ['stages:', ...STAGE_NAMES.map((stage) => `  ${stage}: { ${shown(stage)} }`)];
}
