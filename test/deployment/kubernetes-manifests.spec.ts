import { basename } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SETTINGS } from '#libs/runtime';
import { readDocuments, readText, yamlFilesIn } from './support/documents.js';
import { environmentProblems, SECRETS } from './support/environment-problems.js';
import { typeProblems } from './support/kubernetes-types.js';
import { stagePorts } from './support/stages.js';

interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly [member: string]: unknown;
}

interface MountedSecret {
  /** Without `items`, the whole Secret is mounted. */
  readonly items?: readonly { readonly key: string }[];
  readonly optional?: boolean;
}

interface PodSpec {
  readonly containers: readonly Container[];
  readonly volumes: readonly {
    readonly secret?: MountedSecret;
    readonly projected?: { readonly sources: readonly { readonly secret: MountedSecret }[] };
  }[];
  readonly [member: string]: unknown;
}

interface Workload {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly replicas?: number;
    readonly selector?: { readonly matchLabels: object };
    readonly template: {
      readonly metadata: { readonly labels: object; readonly annotations?: object };
      readonly spec: PodSpec;
    };
  };
}

interface Scaler {
  readonly scaleTargetRef: { readonly name: string };
  readonly minReplicas: number;
  readonly maxReplicas: number;
}

interface Model {
  validate(): void;
}

const DIRECTORY = 'docker/kubernetes';
const KUSTOMIZATION = `${DIRECTORY}/kustomization.yaml`;
const files = yamlFilesIn(DIRECTORY).filter((file) => file !== KUSTOMIZATION);
const documents = files.flatMap(readDocuments);
const ofKind = (kind: string) => documents.map(({ content }) => content).filter((content) => content['kind'] === kind);
const kustomization = readDocuments(KUSTOMIZATION)[0]!.content as {
  readonly resources: readonly string[];
  readonly images: readonly { readonly name: string; readonly newName: string; readonly newTag: string }[];
};
const deployments = ofKind('Deployment') as unknown as readonly Workload[];
const workloads = [...deployments, ...(ofKind('Job') as unknown as readonly Workload[])];
const stages = [...stagePorts()];
const deploymentOf = (stage: string) =>
  workloads.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === stage);
const scalers = ofKind('HorizontalPodAutoscaler').map(({ spec }) => spec as Scaler);
const scalerOf = (stage: string) => scalers.find(({ scaleTargetRef }) => scaleTargetRef.name === stage);

describe('the manifests for Kubernetes', () => {
  it.each(documents.map(({ file, content }) => [basename(file), String(content['kind']), content] as const))(
    '%s: %s is valid by its schema',
    async (_file, kind, content) => {
      const models = (await import(`kubernetes-models/${String(content['apiVersion'])}/${kind}`)) as Readonly<
        Record<string, new (data: object) => Model>
      >;
      new models[kind]!(content).validate();
    },
  );

  it('have no member that Kubernetes does not know', () => {
    expect(typeProblems(documents)).toEqual([]);
  });

  it('are all listed, but for examples', () => {
    const names = files.map((file) => basename(file)).filter((name) => !name.includes('.example.'));
    expect([...kustomization.resources].sort()).toEqual(names.sort());
  });

  it('run the image of this version', () => {
    const { version } = JSON.parse(readText('package.json')) as { readonly version: string };
    expect(kustomization.images).toEqual([expect.objectContaining({ name: 'gapless', newTag: version })]);
    const images = workloads.flatMap(({ spec }) => spec.template.spec.containers.map(({ image }) => image));
    const [image] = kustomization.images;
    // kustomize does not see examples.
    expect(new Set(images)).toEqual(new Set(['gapless', `${image!.newName}:${version}`]));
    expect(readDocuments('docker/helm/Chart.yaml')[0]?.content).toMatchObject({ version, appVersion: version });
  });

  it('give every process only settings that exist, with valid values', () => {
    const told = [
      ...ofKind('ConfigMap').map((map) => map['data'] as Readonly<Record<string, string>>),
      ...workloads.flatMap(({ spec }) =>
        spec.template.spec.containers.map(({ env = [] }) =>
          Object.fromEntries(env.map(({ name, value }) => [name, value])),
        ),
      ),
    ];
    expect(told.flatMap(environmentProblems)).toEqual([]);
  });

  it('mount the secrets of the example in every stage, and of the owner none', () => {
    const [secret] = ofKind('Secret') as unknown as readonly { readonly stringData: object }[];
    const example = readText(`${DIRECTORY}/secrets.example.yaml`);
    const optional = [...example.matchAll(/^ {2}# ([a-z-]+): /gm)].map(([, key]) => key!);
    const notOfOwner = (keys: readonly string[]) => keys.filter((key) => !key.startsWith('owner-')).sort();
    for (const stage of deployments) {
      const sources = stage.spec.template.spec.volumes.flatMap(({ projected }) => projected?.sources ?? []);
      const keysOf = (isOptional: boolean) =>
        sources
          .filter((source) => (source.secret.optional ?? false) === isOptional)
          .flatMap((source) => source.secret.items!.map(({ key }) => key))
          .sort();
      expect(keysOf(false)).toEqual(notOfOwner(Object.keys(secret!.stringData)));
      expect(keysOf(true)).toEqual(notOfOwner(optional));
    }
  });

  it('have a setting for each secret of the example, where it is mounted', () => {
    const mounted = [...readText(`${DIRECTORY}/settings.yaml`).matchAll(/^ {2}(?:# )?([A-Z_]+_FILE): (\/\S+)$/gm)];
    const settings = mounted.map(([, name = '', path = '']) => {
      expect(path).toBe(
        `/secrets/${name
          .replace(/_FILE$/, '')
          .toLowerCase()
          .replaceAll('_', '-')}`,
      );
      return name;
    });
    const files = Object.values(SETTINGS).flatMap(({ name }) => (name.endsWith('_FILE') ? [name] : []));
    expect(settings.sort()).toEqual([...SECRETS.map((name) => `${name}_FILE`), ...files].sort());
  });

  it('name the settings that the migrations may also need, each where its secret is mounted', () => {
    const named = readText(`${DIRECTORY}/migrate.yaml`).matchAll(/^ +# - \{ name: (\S+), value: (\S+) \}$/gm);
    const settings = Object.fromEntries([...named].map(([, name, value]) => [name!, value!]));
    expect(Object.keys(settings)).toEqual([
      'TENANT_DATABASE_URL_FILE',
      'PROJECTION_DATABASE_URLS_FILE',
      'SECRET_ENCRYPTION_KEYS_FILE',
    ]);
    expect(environmentProblems(settings)).toEqual([]);
  });

  it("let only the migrations and the command of an operator have the owner's account", () => {
    const holders = workloads.filter(({ spec }) => JSON.stringify(spec).includes('owner-database-url'));
    expect(holders.map(({ metadata }) => metadata.name)).toEqual(['command', 'migrate']);
  });

  it('run a command of an operator as the stages run, with more memory', () => {
    const containerOf = (name: string) =>
      workloads.find(({ metadata }) => metadata.name === name)!.spec.template.spec.containers[0]!;
    const command = containerOf('command');
    expect(command['envFrom']).toEqual(containerOf('projector')['envFrom']);
    expect(command['resources']).toMatchObject({ limits: { memory: '2Gi' } });
  });

  it('have examples in the namespace that is made first', () => {
    const [{ metadata: namespace }] = ofKind('Namespace') as unknown as readonly [Workload];
    const examples = documents.filter(({ file }) => file.includes('.example.'));
    const namespaces = examples.map(
      ({ content }) => (content['metadata'] as { readonly namespace?: string }).namespace,
    );
    expect(namespaces).toEqual([namespace.name, namespace.name]);
  });

  it.each([
    ['On Kubernetes: docker/kubernetes', ['secrets.example.yaml', 'kubectl apply -k']],
    ['With Helm: docker/helm', ['that Secret', 'helm install']],
  ])('are installed in an order in which each step finds what it needs: %s', (heading, later) => {
    const [, section = ''] = readText('docs/containers.md').split(`\n## ${heading}\n`);
    const [steps = ''] = /^1\. [^]*?\n\n/m.exec(section) ?? [];
    const order = ['TRUSTED_PROXIES', 'namespace.yaml', ...later, 'keys create', 'Ingress to the Service'];
    const places = order.map((step) => steps.indexOf(step));
    expect(places).toEqual(places.filter((place) => place >= 0).sort((a, b) => a - b));
    expect(steps.indexOf('create the accounts')).toBeLessThan(steps.indexOf(later[1]!));
    expect(steps).toContain('create the accounts');
    expect(steps).not.toContain('--create-namespace');
  });

  describe.each(workloads.map((workload) => [workload.metadata.name, workload] as const))('%s', (_name, { spec }) => {
    const pod = spec.template.spec;

    it('has no right that it does not need', () => {
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 10_001, seccompProfile: { type: 'RuntimeDefault' } },
      });
      for (const container of pod.containers) {
        expect(container['securityContext']).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
      }
    });

    it('asks for what it needs, and gets no more memory than that', () => {
      for (const container of pod.containers) {
        expect(container['resources']).toEqual({
          requests: { cpu: expect.any(String), memory: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
      }
    });
  });

  describe.each(stages)('%s', (stage, port) => {
    it('runs, at its port', () => {
      const [container] = deploymentOf(stage)!.spec.template.spec.containers;
      expect(container).toMatchObject({ args: [stage], ports: [{ name: 'http', containerPort: port }] });
      expect(deploymentOf(stage)?.spec.template.metadata.annotations).toMatchObject({
        'prometheus.io/port': String(port),
      });
    });

    it('is asked whether it lives and whether it is ready', () => {
      const [container] = deploymentOf(stage)!.spec.template.spec.containers;
      const probe = (path: string) => expect.objectContaining({ httpGet: { path, port: 'http' } });
      expect(container).toMatchObject({
        startupProbe: probe('/health/live'),
        livenessProbe: probe('/health/live'),
        readinessProbe: probe('/health/ready'),
      });
    });

    it('has the time to stop, is spread over nodes, and is not drained as a whole', () => {
      const { spec } = deploymentOf(stage)!;
      expect(spec.replicas ?? scalerOf(stage)!.minReplicas).toBeGreaterThanOrEqual(2);
      expect(spec.template.spec).toMatchObject({
        terminationGracePeriodSeconds: 30,
        topologySpreadConstraints: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: spec.selector }],
      });
      expect(spec.template.metadata.labels).toMatchObject(spec.selector!.matchLabels);
      const budgets = ofKind('PodDisruptionBudget').map((budget) => budget['spec']);
      expect(budgets).toContainEqual({ maxUnavailable: 1, selector: spec.selector });
    });
  });

  it('scale only what is there, and never beyond the partitions', () => {
    const settings = ofKind('ConfigMap')[0]!['data'] as Readonly<Record<string, string>>;
    for (const { scaleTargetRef, maxReplicas } of scalers) {
      // A number there would undo the scaler's choice whenever the manifests are applied.
      expect(deploymentOf(scaleTargetRef.name)!.spec.replicas).toBeUndefined();
      expect(maxReplicas).toBeLessThanOrEqual(Number(settings['PARTITIONS']));
    }
  });

  it('let Prometheus reach every port, and requests the api alone', () => {
    const allowed = ofKind('NetworkPolicy').map((policy) => policy['spec']);
    expect(allowed).toContainEqual(
      expect.objectContaining({
        podSelector: {},
        ingress: [expect.objectContaining({ ports: [{ protocol: 'TCP', port: 'http' }] })],
      }),
    );
    expect(allowed).toContainEqual(
      expect.objectContaining({
        podSelector: { matchLabels: { 'app.kubernetes.io/name': 'api' } },
        policyTypes: ['Ingress'],
      }),
    );
  });

  it('let the stages that send pushes reach the internet: the api asks the callbacks of agents', () => {
    const [pushes, ...more] = ofKind('NetworkPolicy').filter((policy) => JSON.stringify(policy).includes('0.0.0.0/0'));
    expect(more).toEqual([]);
    expect(pushes?.['spec']).toMatchObject({
      podSelector: {
        matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: ['api', 'dispatcher'] }],
      },
      policyTypes: ['Egress'],
    });
  });
});
