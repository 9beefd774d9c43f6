import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { parse } from 'yaml';
import { topicNames, topicRole, type KafkaBatchesOptions } from '#libs/kafka-log';
import { STAGE_NAMES, STAGES, type StageName } from '#libs/runtime';
import { runProgram } from '../support/outside-clients.js';
import { ROOT } from '../support/root.js';
import { STAGE_MODULES } from '../support/stages.js';
import { readText } from './support/documents.js';

const TOPICS = topicNames('gapless', [10_000]);

/** The apps that are a process of Gapless by themselves. */
function appsThatAreStages(): readonly string[] {
  return readdirSync(join(ROOT, 'apps')).filter((app) => {
    const main = `apps/${app}/src/main.ts`;
    return existsSync(join(ROOT, main)) && readText(main).includes('runGaplessApp(');
  });
}

/** The consumer groups that the handlers of a module make up, and the roles of the topics that each reads. */
function consumersOf(module: Type): Readonly<Record<string, readonly string[]>> {
  const controllers = (Reflect.getMetadata('controllers', module) ?? []) as readonly Type[];
  const methods = controllers.flatMap(({ prototype }: Type<object>) =>
    Object.getOwnPropertyNames(prototype).map((name) => (prototype as Readonly<Record<string, unknown>>)[name]),
  );
  const consumers: Record<string, readonly string[]> = {};
  for (const method of methods.filter((one) => typeof one === 'function')) {
    const extras = Reflect.getMetadata('microservices:pattern_extras', method) as
      { readonly kafkaBatches?: KafkaBatchesOptions } | undefined;
    if (extras?.kafkaBatches === undefined) continue;
    const { group, topics } = extras.kafkaBatches;
    consumers[group] = topics(TOPICS).map((topic) => topicRole(topic).replace(/^retry-\d.*$/, 'retry'));
  }
  return consumers;
}

/** Returns the roles of the topics that `docker/kafka/acls.sh` lets the stage write to. */
async function writableBy(stage: StageName): Promise<readonly string[]> {
  const env = { ...process.env, BROKERS: 'broker:9092', KAFKA_ACLS: 'echo' };
  const calls = (await runProgram('sh', ['docker/kafka/acls.sh'], { cwd: ROOT, env })).toString().split('\n');
  const allowed = calls.filter((call) => /--operation Write\b/.test(call) && call.includes(`User:gapless-${stage} `));
  return allowed.flatMap((call) =>
    [...call.matchAll(/--topic gapless\.([a-z-]+)/g)].map(([, role = '']) => role.replace(/-$/, '')),
  );
}

describe('the list of stages', () => {
  it('has every app that is a process of Gapless', () => {
    expect([...appsThatAreStages()].sort()).toEqual([...STAGE_NAMES].sort());
  });

  it('has the projects of the Nest CLI, the standalone process aside', () => {
    const { projects } = JSON.parse(readText('nest-cli.json')) as {
      readonly projects: Readonly<Record<string, object>>;
    };
    expect(Object.keys(projects).filter((name) => name !== 'standalone')).toEqual(STAGE_NAMES);
  });

  it('has the alerts for stages that are missing', () => {
    const rules = parse(readText('docker/observability/prometheus/alerts.yml')) as {
      readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
    };
    const missing = rules.groups
      .flatMap((group) => group.rules)
      .filter(({ alert }) => /^Gapless\w+Missing$/.test(alert));
    const apps = missing.flatMap(({ expr }) => [...expr.matchAll(/absent\(gapless_build_info\{app="(\w+)"\}\)/g)]);
    expect(apps.map(([, app]) => app).toSorted()).toEqual(STAGE_NAMES.toSorted());
  });

  it('has what Prometheus scrapes, at its port', () => {
    const { scrape_configs: jobs } = parse(readText('docker/observability/prometheus/prometheus.yml')) as {
      readonly scrape_configs: readonly {
        readonly job_name: string;
        readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[];
      }[];
    };
    const scraped = jobs.flatMap(({ dns_sd_configs }) => dns_sd_configs.map(({ names, port }) => [...names, port]));
    expect(scraped).toEqual(STAGE_NAMES.map((name) => [name, STAGES[name].port]));
  });

  describe.each(STAGE_NAMES)('%s', (name: StageName) => {
    it('reads what its handlers read, by the same consumer groups', () => {
      expect(consumersOf(STAGE_MODULES[name])).toEqual(STAGES[name].consumers);
    });

    it('may write to its topics in Kafka, and to no other', async () => {
      // The api creates the topics, and notes in one of them whose they are.
      const more = name === 'api' ? ['installation'] : [];
      expect((await writableBy(name)).toSorted()).toEqual([...STAGES[name].writes, ...more].toSorted());
    });

    it('is run by its app, at its port', () => {
      const main = readText(`apps/${name}/src/main.ts`);
      expect(main).toContain(`name: '${name}'`);
      expect(main).toContain(`defaultPort: STAGES.${name}.port`);
    });
  });
});
