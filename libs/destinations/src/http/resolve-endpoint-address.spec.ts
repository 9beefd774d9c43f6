import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parseIp, parseNetworks } from '#libs/runtime';
import { oneTo } from '../../../../test/support/sequence.js';
import { checkEndpointAddress, resolveEndpointAddress } from './resolve-endpoint-address.js';
import { createResolver, type Resolver } from './resolver.js';
import { startDnsServer, type TestDnsServer } from './testing/dns-server.js';

const NONE = parseNetworks('');

let dns: TestDnsServer;
let resolver: Resolver;

beforeEach(async () => {
  dns = await startDnsServer();
  resolver = createResolver({ dnsServers: [dns.address], timeoutMs: 30_000 });
});

afterEach(() => dns.close());

describe('createResolver with DNS_SERVERS', () => {
  it('gives the addresses of both families', async () => {
    dns.set('hooks.example.com', ['8.8.8.8', '2606:4700::1111', '1.1.1.1']);
    await expect(resolver.resolve('hooks.example.com')).resolves.toEqual({
      kind: 'resolved',
      addresses: ['8.8.8.8', '1.1.1.1', '2606:4700::1111'],
    });
  });

  it('gives what there is when a name has one family only', async () => {
    dns.set('four.example.com', ['8.8.8.8']);
    dns.set('six.example.com', ['2606:4700::1111']);
    await expect(resolver.resolve('four.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
    await expect(resolver.resolve('six.example.com')).resolves.toMatchObject({ addresses: ['2606:4700::1111'] });
  });

  it('asks again each time, whatever time to live an answer has', async () => {
    dns.set('hooks.example.com', (asked) => [asked === 0 ? '8.8.8.8' : '1.1.1.1']);
    await expect(resolver.resolve('hooks.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
    await expect(resolver.resolve('hooks.example.com')).resolves.toMatchObject({ addresses: ['1.1.1.1'] });
  });

  it('reports a name that does not exist, and one without addresses', async () => {
    dns.set('empty.example.com', []);
    const unresolvable = { kind: 'unresolvable', detail: 'the name has no address' };
    await expect(resolver.resolve('nowhere.example.com')).resolves.toEqual(unresolvable);
    await expect(resolver.resolve('empty.example.com')).resolves.toEqual(unresolvable);
  });

  it('gives up within its time on servers that do not answer', async () => {
    dns.set('silent.example.com', () => 'silence');
    const impatient = createResolver({ dnsServers: [dns.address], timeoutMs: 200 });
    await expect(impatient.resolve('silent.example.com')).resolves.toEqual({
      kind: 'unresolvable',
      detail: 'the name servers did not answer in time',
    });
  });

  it('gives up within its time however many servers there are', async () => {
    const servers = await Promise.all([1, 2, 3, 4].map(() => startDnsServer()));
    for (const server of servers) server.set('silent.example.com', () => 'silence');
    const dnsServers = servers.map(({ address }) => address);
    await createResolver({ dnsServers, timeoutMs: 2_000 }).resolve('silent.example.com');
    const asked = servers.flatMap(({ questions }) => questions).filter((question) => question.startsWith('A '));
    expect(asked.length).toBeGreaterThan(0);
    // There was no time for them all.
    expect(asked.length).toBeLessThan(2 * servers.length);
    await Promise.all(servers.map((server) => server.close()));
  });

  it('does not wait long for servers that never answer for IPv6', async () => {
    dns.set('half.example.com', (_asked, type) => (type === 'AAAA' ? 'silence' : ['8.8.8.8']));
    const patient = createResolver({ dnsServers: [dns.address], timeoutMs: 30_000 });
    const startedAt = performance.now();
    await expect(patient.resolve('half.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
    expect(performance.now() - startedAt).toBeLessThan(9_000);
  });

  it('waits for servers that answer for IPv6 alone', async () => {
    dns.set('six.example.com', (asked, type) => (type === 'AAAA' && asked > 0 ? ['2001:4860::8888'] : 'silence'));
    const patient = createResolver({ dnsServers: [dns.address], timeoutMs: 8_000 });
    await expect(patient.resolve('six.example.com')).resolves.toMatchObject({ addresses: ['2001:4860::8888'] });
  });

  it('asks the next server soon if the first one never answers', async () => {
    dns.set('hooks.example.com', () => 'silence');
    const second = await startDnsServer();
    second.set('hooks.example.com', ['8.8.8.8']);
    const startedAt = performance.now();
    const patient = createResolver({ dnsServers: [dns.address, second.address], timeoutMs: 30_000 });
    await expect(patient.resolve('hooks.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
    expect(performance.now() - startedAt).toBeLessThan(9_000);
    await second.close();
  });

  it('waits for a server that is slow to answer', async () => {
    dns.set('slow.example.com', (asked) => (asked < 3 ? 'silence' : ['8.8.8.8']));
    const patient = createResolver({ dnsServers: [dns.address], timeoutMs: 10_000 });
    await expect(patient.resolve('slow.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
  });

  it('asks once more when a question is lost', async () => {
    dns.set('lossy.example.com', (asked) => (asked === 0 ? 'silence' : ['8.8.8.8']));
    const patient = createResolver({ dnsServers: [dns.address], timeoutMs: 6_000 });
    await expect(patient.resolve('lossy.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
  });

  it.each(['example.com:53', '1.2.3.4:x', ''])('refuses "%s" as a name server', (server) => {
    expect(() => createResolver({ dnsServers: [server], timeoutMs: 100 })).toThrow();
  });
});

describe('createResolver without DNS_SERVERS', () => {
  it('asks the system', async () => {
    const resolution = await createResolver({ timeoutMs: 5_000 }).resolve('localhost');
    expect(resolution).toMatchObject({ kind: 'resolved' });
  });

  it('finds a name while the servers of many others do not answer', async () => {
    const ofSystem = createResolver({ systemServers: [dns.address], timeoutMs: 20_000 });
    const impatient = createResolver({ systemServers: [dns.address], timeoutMs: 1_000 });
    const silent = oneTo(20).map((nth) => `silent${nth}.example.com`);
    for (const name of silent) dns.set(name, () => 'silence');
    dns.set('hooks.example.com', ['8.8.8.8']);
    const waiting = Promise.all(silent.map((name) => impatient.resolve(name)));
    await expect(ofSystem.resolve('hooks.example.com')).resolves.toMatchObject({ addresses: ['8.8.8.8'] });
    const detail = 'the name servers did not answer in time';
    expect(await waiting).toEqual(silent.map(() => ({ kind: 'unresolvable', detail })));
  });

  it('asks the system itself for a name that its servers do not know', async () => {
    const ofSystem = createResolver({ systemServers: [dns.address], timeoutMs: 5_000 });
    // The system may have no name servers either, so only the question is certain.
    await expect(ofSystem.resolve('unknown.invalid')).resolves.toMatchObject({ kind: 'unresolvable' });
    expect(dns.questions).toContain('A unknown.invalid');
  });
});

describe('resolveEndpointAddress', () => {
  const host = { kind: 'name', name: 'hooks.example.com' } as const;

  it('gives all addresses of a name if all are public', async () => {
    dns.set(host.name, ['8.8.8.8', '2606:4700::1111']);
    await expect(resolveEndpointAddress(host, resolver, NONE)).resolves.toEqual({
      kind: 'ok',
      addresses: ['8.8.8.8', '2606:4700::1111'],
    });
  });

  it.each([
    [['8.8.8.8', '10.0.0.1'], '10.0.0.1'],
    [['10.0.0.1', '8.8.8.8'], '10.0.0.1'],
    [['8.8.8.8', '1.1.1.1', '::1'], '::1'],
    [['8.8.8.8', '::ffff:169.254.169.254'], '::ffff:169.254.169.254'],
    [['2606:4700::1111', '64:ff9b::a00:1'], '64:ff9b::a00:1'],
    [['8.8.8.8', '2001:0:808:808::80ff:fffe'], '2001:0:808:808::80ff:fffe'],
  ])('refuses a name with the addresses %j for %s', async (addresses, refused) => {
    dns.set(host.name, addresses);
    const found = await resolveEndpointAddress(host, resolver, NONE);
    expect(found).toEqual({ kind: 'refused', address: expect.anything(), reason: expect.any(String) });
    expect(found.kind === 'refused' && parseIp(found.address)).toEqual(parseIp(refused));
  });

  it('gives 64 addresses of a name, and none of a name with more', async () => {
    const many = oneTo(65).map((nth) => `8.8.8.${nth}`);
    const addresses = many.slice(0, 64);
    dns.set(host.name, addresses);
    await expect(resolveEndpointAddress(host, resolver, NONE)).resolves.toEqual({ kind: 'ok', addresses });
    dns.set(host.name, many);
    const detail = 'the name has more than 64 addresses';
    await expect(resolveEndpointAddress(host, resolver, NONE)).resolves.toEqual({ kind: 'unresolvable', detail });
  });

  it('asks no name server for localhost: it is the loopback that is allowed', async () => {
    const localhost = { kind: 'name', name: 'app.localhost' } as const;
    dns.set('app.localhost', ['8.8.8.8']);
    const addresses = async (networks: string): Promise<unknown> =>
      resolveEndpointAddress(localhost, resolver, parseNetworks(networks));
    await expect(addresses('127.0.0.0/8,::1/128')).resolves.toEqual({ kind: 'ok', addresses: ['127.0.0.1', '::1'] });
    await expect(addresses('::1/128')).resolves.toEqual({ kind: 'ok', addresses: ['::1'] });
    await expect(addresses('10.0.0.0/8')).resolves.toMatchObject({ kind: 'unresolvable' });
    expect(dns.questions).toEqual([]);
  });
});

describe('checkEndpointAddress', () => {
  const check = (url: string): ReturnType<typeof checkEndpointAddress> =>
    checkEndpointAddress(url, { resolver, allowHttp: false, allowedNetworks: NONE });

  it('accepts a url whose host has public addresses', async () => {
    dns.set('hooks.example.com', ['8.8.8.8']);
    await expect(check('https://hooks.example.com/x')).resolves.toMatchObject({ ok: true });
  });

  it.each([
    ['http://hooks.example.com/', 'url_not_https'],
    ['https://user@hooks.example.com/', 'url_invalid'],
    ['https://localhost/', 'url_private_network'],
    ['https://intranet/', 'url_private_network'],
    ['https://10.0.0.1/', 'url_private_network'],
    ['https://metadata.google.internal/', 'url_private_network'],
  ])('refuses %s as %s without asking a name server', async (url, code) => {
    await expect(check(url)).resolves.toMatchObject({ ok: false, code });
    expect(dns.questions).toEqual([]);
  });

  it('answers alike for names with private, link-local, denied or too many addresses, and for names that nobody knows', async () => {
    dns.set('private.example.com', ['8.8.8.8', '192.168.17.4']);
    dns.set('metadata.example.com', ['169.254.169.254']);
    dns.set('azure.example.com', ['168.63.129.16']);
    dns.set('denied.example.com', ['1.1.1.1', '9.9.9.9']);
    dns.set('empty.example.com', []);
    const many = oneTo(33).flatMap((nth) => [`8.8.8.${nth}`, `2606:4700::${nth}`]);
    dns.set('many.example.com', many);
    const rules = { resolver, allowHttp: false, allowedNetworks: NONE, deniedNetworks: parseNetworks('9.9.9.0/24') };
    const names = ['private', 'metadata', 'azure', 'denied', 'empty', 'many', 'nowhere'];
    const answers = await Promise.all(names.map((name) => checkEndpointAddress(`https://${name}.example.com/`, rules)));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    const detail = expect.stringContaining('no public address, or more than 64 addresses') as unknown;
    expect(answers[0]).toEqual({ ok: false, code: 'url_unresolvable', detail });
  });

  it('says more where the operator allows private networks', async () => {
    dns.set('private.example.com', ['192.168.17.4']);
    dns.set(
      'many.example.com',
      oneTo(65).map((nth) => `10.0.0.${nth}`),
    );
    const rules = { resolver, allowHttp: false, allowedNetworks: parseNetworks('10.0.0.0/8') };
    const detail = 'the name has more than 64 addresses';
    const many = await checkEndpointAddress('https://many.example.com/', rules);
    expect(many).toEqual({ ok: false, code: 'url_unresolvable', detail });
    const answer = await checkEndpointAddress('https://private.example.com/', rules);
    expect(answer).toMatchObject({ ok: false, code: 'url_private_network' });
    expect(JSON.stringify(answer)).not.toContain('192.168.17.4');
  });
});
