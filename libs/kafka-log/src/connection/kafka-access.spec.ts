import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '#libs/runtime';
import { kafkaAccess, type KafkaAccessConfig } from './kafka-access.js';

const OPEN: KafkaAccessConfig = {
  kafkaTls: false,
  kafkaCaFile: null,
  kafkaCertFile: null,
  kafkaKeyFile: null,
  kafkaSasl: null,
  kafkaUsername: null,
  kafkaPassword: null,
  kafkaTokenUrl: null,
  kafkaTokenScope: null,
};

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'gapless-access-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

describe('access to brokers', () => {
  it('is plain unless a setting asks for more', () => {
    expect(kafkaAccess(OPEN)).toEqual({});
  });

  it('by TLS trusts what Node trusts, or the authorities of a file', () => {
    const caFile = join(directory, 'ca.pem');
    writeFileSync(caFile, 'an authority');
    expect(kafkaAccess({ ...OPEN, kafkaTls: true })).toEqual({ ssl: {} });
    expect(kafkaAccess({ ...OPEN, kafkaTls: true, kafkaCaFile: caFile })).toEqual({ ssl: { ca: 'an authority' } });
  });

  it('by TLS shows the client certificate of two files', () => {
    const [kafkaCertFile, kafkaKeyFile] = [join(directory, 'client.pem'), join(directory, 'client.key')];
    writeFileSync(kafkaCertFile, 'a certificate');
    writeFileSync(kafkaKeyFile, 'its key');
    expect(kafkaAccess({ ...OPEN, kafkaTls: true, kafkaCertFile, kafkaKeyFile })).toEqual({
      ssl: { cert: 'a certificate', key: 'its key' },
    });
  });

  it('is refused with the setting that names a file that cannot be read', () => {
    const act = () => kafkaAccess({ ...OPEN, kafkaTls: true, kafkaCaFile: join(directory, 'missing.pem') });
    expect(act).toThrow(ConfigError);
    expect(act).toThrow(/KAFKA_CA_FILE=.*missing\.pem: ENOENT/);
  });

  it('by SASL has the name and the password', () => {
    const signIn = { kafkaSasl: 'scram-sha-512', kafkaUsername: 'gapless', kafkaPassword: 'secret' } as const;
    expect(kafkaAccess({ ...OPEN, ...signIn })).toEqual({
      sasl: { mechanism: 'scram-sha-512', username: 'gapless', password: 'secret' },
    });
  });
});
