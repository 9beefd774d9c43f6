import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { parseAllDocuments } from 'yaml';
import { STAGE_NAMES } from '#libs/runtime';
import { outsideClientPaths } from '../../../scripts/outside-clients.mjs';
import { environmentProblems } from '../../deployment/support/environment-problems.js';
import { itUnless, LACKS, runProgram } from '../../support/outside-clients.js';
import { ROOT } from '../../support/root.js';

interface KubernetesObject {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly [member: string]: unknown;
}

interface PodOwner {
  readonly template: { readonly spec: { readonly containers: readonly { readonly image: string }[] } };
}

const { hadolint, kubernetesTools, kubernetesSchemas } = outsideClientPaths(ROOT);
const KUBERNETES = /[\d.]+$/.exec(kubernetesSchemas)![0];
const REQUIRED = {
  'kafka.brokers': 'b1.example.com:9093',
  'postgres.url': 'postgres://app:a@db.example.com/gapless',
  'secrets.encryptionKeys': 'k1:AAAA',
};

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-manifests-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

async function run(tool: 'helm' | 'kubeconform' | 'kubectl', ...args: readonly string[]): Promise<string> {
  return (await runProgram(join(kubernetesTools, tool), args, { cwd: ROOT })).toString();
}

/** @throws Error with the findings of kubeconform */
async function checkManifests(manifests: string): Promise<void> {
  const file = join(directory, 'manifests.yaml');
  writeFileSync(file, manifests);
  const schemas = `${kubernetesSchemas}/{{ .ResourceKind }}{{ .KindSuffix }}.json`;
  await run('kubeconform', '-strict', '-schema-location', schemas, file);
}

function setting(values: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(values).flatMap(([name, value]) => [
    '--set',
    // A list keeps its commas.
    `${name}=${value.startsWith('{') ? value : value.replaceAll(',', '\\,')}`,
  ]);
}

function chart(values: Readonly<Record<string, string>>): Promise<string> {
  return run('helm', 'template', 'mine', 'docker/helm', '--kube-version', KUBERNETES, ...setting(values));
}

function objectsIn(manifests: string): readonly KubernetesObject[] {
  return parseAllDocuments(manifests)
    .map((document) => document.toJS() as KubernetesObject | null)
    .filter((object) => object !== null);
}

function named(objects: readonly KubernetesObject[], kind: string, name: string): KubernetesObject | undefined {
  return objects.find((object) => object.kind === kind && object.metadata.name === name);
}

describe('the manifests', () => {
  itUnless(LACKS.kubernetesTools, 'are combined by kustomize, and valid to kubeconform', async () => {
    const manifests = await run('kubectl', 'kustomize', 'docker/kubernetes');
    await checkManifests(manifests);
    await expect(checkManifests(manifests.replace('replicas:', 'replica:'))).rejects.toThrow('replica');
    await checkManifests(readFileSync(join(ROOT, 'docker/kubernetes/command.example.yaml'), 'utf8'));
  });
});

describe('the Helm chart', () => {
  itUnless(LACKS.kubernetesTools, 'has no finding of helm lint', async () => {
    const found = await run(
      'helm',
      'lint',
      '--strict',
      'docker/helm',
      '--kube-version',
      KUBERNETES,
      ...setting(REQUIRED),
    );
    expect(found).toContain('0 chart(s) failed');
  });

  itUnless(LACKS.kubernetesTools, 'makes the objects of the manifests, valid to kubeconform', async () => {
    const rendered = await chart(REQUIRED);
    await checkManifests(rendered);
    const ours = objectsIn(rendered).map(
      ({ kind, metadata }) => `${kind} ${metadata.name.replace(/^mine-|-\d$/g, '')}`,
    );
    const theirs = objectsIn(await run('kubectl', 'kustomize', 'docker/kubernetes'))
      .filter(({ kind }) => kind !== 'Namespace')
      .map(({ kind, metadata }) => `${kind} ${metadata.name.replace(/^gapless-/, '')}`);
    expect(ours.sort()).toEqual([...theirs, 'Secret secrets'].sort());
    expect(ours).toEqual(expect.arrayContaining(STAGE_NAMES.map((stage) => `Deployment ${stage}`)));
  });

  itUnless(LACKS.kubernetesTools, 'takes the addresses and accounts of external servers', async () => {
    const rendered = await chart({
      ...REQUIRED,
      'kafka.brokers': 'b1.example.com:9093,b2.example.com:9093',
      'kafka.tls': 'true',
      'kafka.sasl.mechanism': 'scram-sha-512',
      'kafka.sasl.username': 'gapless',
      'secrets.more.kafka-password': 'secret',
      'secrets.more.otel-exporter-otlp-headers': 'api-key=secret',
      'postgres.ownerUrl': 'postgres://owner:b@db.example.com/gapless',
    });
    await checkManifests(rendered);
    const objects = objectsIn(rendered);
    const settings = named(objects, 'ConfigMap', 'mine-settings')!['data'] as Readonly<Record<string, string>>;
    expect(settings).toMatchObject({
      KAFKA_BROKERS: 'b1.example.com:9093,b2.example.com:9093',
      KAFKA_TLS: 'true',
      KAFKA_SASL: 'scram-sha-512',
      KAFKA_USERNAME: 'gapless',
      KAFKA_PASSWORD_FILE: '/secrets/kafka-password',
      OTEL_EXPORTER_OTLP_HEADERS_FILE: '/secrets/otel-exporter-otlp-headers',
    });
    expect(environmentProblems(settings)).toEqual([]);
    expect(named(objects, 'Secret', 'mine-secrets')?.['stringData']).toEqual({
      'database-url': REQUIRED['postgres.url'],
      'owner-database-url': 'postgres://owner:b@db.example.com/gapless',
      'secret-encryption-keys': REQUIRED['secrets.encryptionKeys'],
      'kafka-password': 'secret',
      'otel-exporter-otlp-headers': 'api-key=secret',
    });
    const mounted = JSON.stringify(named(objects, 'Deployment', 'mine-sequencer'));
    expect(mounted).toContain('"key":"kafka-password"');
    expect(mounted).not.toContain('owner-database-url');
  });

  itUnless(
    LACKS.kubernetesTools,
    'lets every process reach the ports of the brokers and of the other servers',
    async () => {
      const rendered = await chart({
        ...REQUIRED,
        'kafka.brokers': 'b1.example.com:9093, b2.example.com:9094,b3.example.com:9093',
        'networkPolicies.servers': '{5432,587}',
      });
      await checkManifests(rendered);
      const { egress } = named(objectsIn(rendered), 'NetworkPolicy', 'mine-servers')!['spec'] as {
        readonly egress: readonly { readonly ports: readonly { readonly protocol: string; readonly port: number }[] }[];
      };
      const ports = egress.flatMap((rule) => rule.ports).filter(({ protocol }) => protocol === 'TCP');
      expect(ports.map(({ port }) => port)).toEqual([53, 9093, 9094, 5432, 587]);
    },
  );

  itUnless(LACKS.kubernetesTools, 'lets the stages that send pushes reach the internet', async () => {
    const policy = named(objectsIn(await chart(REQUIRED)), 'NetworkPolicy', 'mine-pushes');
    expect(policy?.['spec']).toMatchObject({
      podSelector: {
        matchLabels: { 'app.kubernetes.io/instance': 'mine' },
        matchExpressions: [{ key: 'app.kubernetes.io/name', operator: 'In', values: ['api', 'dispatcher'] }],
      },
    });
  });

  itUnless(LACKS.kubernetesTools, 'migrates every database, with the files that the urls name', async () => {
    const oneAccount = {
      'secrets.more.postgres-ca': 'PEM',
      'secrets.more.projection-database-urls': 'postgres://app:a@db-1/feed',
    };
    const more = { ...oneAccount, 'secrets.more.owner-projection-database-urls': 'postgres://owner:b@db-1/feed' };
    const rendered = await chart({ ...REQUIRED, ...more });
    await checkManifests(rendered);
    const objects = objectsIn(rendered);
    const job = JSON.stringify(named(objects, 'Job', 'mine-migrate-1'));
    for (const name of Object.keys(more)) expect(job).toContain(`"key":"${name.replace('secrets.more.', '')}"`);
    expect(job).toContain('"PROJECTION_DATABASE_URLS_FILE","value":"/secrets/owner-projection-database-urls"');
    const stage = JSON.stringify(named(objects, 'Deployment', 'mine-projector'));
    expect(stage).toContain('"key":"postgres-ca"');
    expect(stage).not.toContain('owner-');
    expect(JSON.stringify(named(objects, 'ConfigMap', 'mine-settings'))).not.toContain('OWNER_');
    expect(await chart({ ...REQUIRED, ...oneAccount })).toContain('value: /secrets/projection-database-urls }');
  });

  itUnless(LACKS.kubernetesTools, 'migrates with the account for requests that the stages use', async () => {
    const jobWith = async (values: Readonly<Record<string, string>>) =>
      JSON.stringify(named(objectsIn(await chart({ ...REQUIRED, ...values })), 'Job', 'mine-migrate-1'));
    expect(await jobWith({})).not.toContain('TENANT_DATABASE_URL');
    expect(await jobWith({ 'settings.TENANT_DATABASE_URL': 'off' })).toContain(
      '{"name":"TENANT_DATABASE_URL","value":"off"}',
    );
    const job = await jobWith({ 'secrets.more.tenant-database-url': 'postgres://requests:c@db.example.com/gapless' });
    expect(job).toContain('{"name":"TENANT_DATABASE_URL_FILE","value":"/secrets/tenant-database-url"}');
    expect(job).toContain('"key":"tenant-database-url"');
  });

  itUnless(LACKS.kubernetesTools, 'replaces the pods when a setting or a secret changes', async () => {
    const podsOf = async (values: Readonly<Record<string, string>>) => {
      const { spec } = named(objectsIn(await chart({ ...REQUIRED, ...values })), 'Deployment', 'mine-sequencer') as {
        readonly spec?: { readonly template: object };
      };
      return JSON.stringify(spec!.template);
    };
    const pods = await podsOf({});
    expect(await podsOf({})).toBe(pods);
    expect(await podsOf({ 'settings.RETENTION': '20d' })).not.toBe(pods);
    expect(await podsOf({ 'secrets.encryptionKeys': 'k2:BBBB,k1:AAAA' })).not.toBe(pods);
  });

  itUnless(LACKS.kubernetesTools, 'takes the memory of a stage and the login to a registry', async () => {
    const rendered = await chart({ ...REQUIRED, 'stages.api.memory': '1Gi', 'image.pullSecrets': '{registry}' });
    await checkManifests(rendered);
    const objects = objectsIn(rendered);
    const limitOf = (stage: string) =>
      /"limits":(\{.*?\})/.exec(JSON.stringify(named(objects, 'Deployment', `mine-${stage}`)))?.[1];
    expect(limitOf('api')).toBe('{"memory":"1Gi"}');
    expect(limitOf('alerting')).toBe('{"memory":"384Mi"}');
    for (const object of objects.filter(({ kind }) => ['Deployment', 'Job'].includes(kind))) {
      expect(object['spec']).toMatchObject({ template: { spec: { imagePullSecrets: [{ name: 'registry' }] } } });
    }
  });

  itUnless(LACKS.kubernetesTools, 'keeps the version of a stage during an upgrade', async () => {
    const rendered = await chart({ ...REQUIRED, 'image.tag': '0.2.0', 'stages.api.tag': '0.1.0' });
    await checkManifests(rendered);
    const images = objectsIn(rendered).flatMap(({ kind, metadata, spec }) => {
      if (!['Deployment', 'Job'].includes(kind)) return [];
      const { template } = spec as PodOwner;
      return template.spec.containers.map(({ image }) => [metadata.name, image.split(':').at(-1)]);
    });
    expect(Object.fromEntries(images)).toEqual({
      'mine-migrate-1': '0.2.0',
      ...Object.fromEntries(STAGE_NAMES.map((stage) => [`mine-${stage}`, stage === 'api' ? '0.1.0' : '0.2.0'])),
    });
  });

  itUnless(LACKS.kubernetesTools, 'refuses values that it does not know', async () => {
    const unknown = { 'kafka.broker': 'broker', 'stages.api.maxReplica': 'maxReplica', 'stages.router.cpu': 'router' };
    for (const [value, member] of Object.entries(unknown)) {
      await expect(chart({ ...REQUIRED, [value]: '3' })).rejects.toThrow(`'${member}'`);
    }
  });

  itUnless(LACKS.kubernetesTools, 'leaves the number of pods to the scaler of a stage', async () => {
    const objects = objectsIn(await chart({ ...REQUIRED, 'stages.sequencer.replicas': '3' }));
    const numberOf = (stage: string) =>
      (named(objects, 'Deployment', `mine-${stage}`)!['spec'] as { readonly replicas?: number }).replicas;
    expect(numberOf('sequencer')).toBe(3);
    expect(numberOf('api')).toBeUndefined();
    expect(named(objects, 'HorizontalPodAutoscaler', 'mine-api')?.['spec']).toMatchObject({ minReplicas: 2 });
  });

  itUnless(LACKS.kubernetesTools, 'takes the secrets of an existing Secret', async () => {
    const rendered = await chart({
      'kafka.brokers': 'b1.example.com:9092',
      'secrets.existing': 'ours',
      'secrets.more.smtp-url': '',
    });
    await checkManifests(rendered);
    const objects = objectsIn(rendered);
    expect(objects.filter(({ kind }) => kind === 'Secret')).toEqual([]);
    const mounted = JSON.stringify(named(objects, 'Deployment', 'mine-alerting'));
    expect(mounted).toContain('"secretName":"ours"');
    expect(mounted).toContain('"key":"smtp-url"');
  });

  itUnless(LACKS.kubernetesTools, 'names each required value that is missing', async () => {
    for (const name of Object.keys(REQUIRED)) {
      await expect(chart({ ...REQUIRED, [name]: '' })).rejects.toThrow(`Set ${name}`);
    }
  });
});

describe('the Dockerfiles', () => {
  const files = readdirSync(join(ROOT, 'docker'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('Dockerfile'))
    .map((name) => join(ROOT, 'docker', name));

  itUnless(LACKS.hadolint, 'have no finding of hadolint', async () => {
    expect(files.length).toBeGreaterThan(3);
    const found = await runProgram(hadolint, ['--config', join(ROOT, 'docker/hadolint.yaml'), ...files]);
    expect(found.toString()).toBe('');
  });
});
