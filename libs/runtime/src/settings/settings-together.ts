import { databaseName } from './database-name.js';
import { parseUrls } from './setting-values.js';
import type { Environment } from './setting.js';

/** Returns the problems of settings that need each other. */
export function problemsTogether(environment: Environment): readonly string[] {
  const of = (name: string) => environment[name]?.trim() ?? '';
  const isSet = (name: string) => of(name) !== '';
  const problems: string[] = [];
  const needs = (name: string, others: readonly string[], why: string) => {
    const missing = others.filter((other) => !isSet(other));
    if (missing.length > 0) problems.push(`${missing.join(' and ')} not set: ${name} ${why}`);
  };
  const sasl = of('KAFKA_SASL').toLowerCase();
  if (sasl === 'oauthbearer') {
    needs(
      'KAFKA_SASL=oauthbearer',
      ['KAFKA_USERNAME', 'KAFKA_PASSWORD', 'KAFKA_TOKEN_URL'],
      'asks for tokens with them',
    );
  } else if (sasl !== '') {
    needs(`KAFKA_SASL=${sasl}`, ['KAFKA_USERNAME', 'KAFKA_PASSWORD'], 'signs in with them');
  } else {
    for (const name of ['KAFKA_USERNAME', 'KAFKA_PASSWORD']) {
      if (isSet(name)) needs(name, ['KAFKA_SASL'], 'is for signing in by SASL');
    }
  }
  if (isSet('KAFKA_CERT_FILE')) needs('KAFKA_CERT_FILE', ['KAFKA_KEY_FILE'], 'is of no use without its key');
  if (isSet('KAFKA_KEY_FILE')) needs('KAFKA_KEY_FILE', ['KAFKA_CERT_FILE'], 'belongs to a certificate');
  for (const name of ['KAFKA_CA_FILE', 'KAFKA_CERT_FILE']) {
    if (isSet(name) && of('KAFKA_TLS') !== 'true') problems.push(`${name} is set, but KAFKA_TLS is not true`);
  }
  problems.push(...problemsOfDatabases(of('PROJECTION_DATABASE_URLS'), of('PARTITIONS')));
  const primaries = [of('DATABASE_URL'), of('PROJECTION_DATABASE_URLS')].flatMap(namesOf);
  const replicas = namesOf(of('DATABASE_READ_URLS'));
  problems.push(...repeated('DATABASE_READ_URLS', replicas));
  for (const name of replicas.filter((replica) => primaries.includes(replica)))
    problems.push(`DATABASE_READ_URLS names ${name}, which is no replica: other settings name it as a primary`);
  return problems;
}

function namesOf(list: string): readonly string[] {
  return (list === '' ? [] : (parseUrls(list, 'postgres:', 'postgresql:') ?? [])).map(databaseName);
}

function repeated(setting: string, names: readonly string[]): readonly string[] {
  return [...new Set(names.filter((name, place) => names.indexOf(name) !== place))].map(
    (name) => `${setting} names ${name} more than once`,
  );
}

function problemsOfDatabases(list: string, partitions: string): readonly string[] {
  const names = namesOf(list);
  const problems = [...repeated('PROJECTION_DATABASE_URLS', names)];
  if (/^\d+$/.test(partitions) && names.length > Number(partitions)) {
    problems.push(
      `PROJECTION_DATABASE_URLS lists ${names.length} databases, but PARTITIONS is ${partitions}: some would hold nothing`,
    );
  }
  return problems;
}
