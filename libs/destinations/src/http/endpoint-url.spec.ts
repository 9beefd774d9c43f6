import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseNetworks } from '#libs/runtime';
import { checkEndpointUrl, type EndpointUrlErrorCode, type EndpointUrlRules } from './endpoint-url.js';

const STRICT: EndpointUrlRules = { allowHttp: false, allowedNetworks: [] };
const DEVELOPMENT: EndpointUrlRules = { allowHttp: true, allowedNetworks: parseNetworks('127.0.0.0/8,::1/128') };

const REFUSED: readonly (readonly [url: string, code: EndpointUrlErrorCode, why: string])[] = [
  ['', 'url_invalid', 'nothing'],
  ['hooks.example.com/x', 'url_invalid', 'no scheme'],
  ['//hooks.example.com/x', 'url_invalid', 'no scheme'],
  ['https:hooks.example.com', 'url_invalid', 'no slashes, which browsers would add'],
  ['https:/hooks.example.com', 'url_invalid', 'one slash'],
  ['https:///hooks.example.com', 'url_invalid', 'empty host'],
  ['https://', 'url_invalid', 'empty host'],
  ['https://?x=1', 'url_invalid', 'empty host'],
  ['https:\\\\hooks.example.com', 'url_invalid', 'backslashes'],
  ['https://hooks.example.com\\@10.0.0.1/', 'url_invalid', 'a backslash hides which host is meant'],
  [' https://hooks.example.com/', 'url_invalid', 'white space before'],
  ['https://hooks.example.com/\n', 'url_invalid', 'line feed behind'],
  ['https://hooks.exa\tmple.com/', 'url_invalid', 'tab within'],
  ['https://hooks.example.com/a b', 'url_invalid', 'space within'],
  ['https://hooks.example.com/\u0000', 'url_invalid', 'NUL'],
  ['https://hooks.example.com/\ud83d', 'url_invalid', 'half a character'],
  ['https://user@hooks.example.com/', 'url_invalid', 'user name'],
  ['https://user:pass@hooks.example.com/', 'url_invalid', 'credentials'],
  ['https://:pass@hooks.example.com/', 'url_invalid', 'password'],
  ['https://@hooks.example.com/', 'url_invalid', 'empty credentials'],
  ['https://hooks.example.com@10.0.0.1/', 'url_invalid', 'a host that poses as credentials'],
  ['https://hooks.example.com/#part', 'url_invalid', 'fragment'],
  ['https://hooks.example.com/#', 'url_invalid', 'empty fragment'],
  ['https://hooks.example.com#@10.0.0.1/', 'url_invalid', 'a fragment that poses as credentials'],
  ['https://hooks.example.com:0/', 'url_invalid', 'port 0'],
  ['https://hooks.example.com:65536/', 'url_invalid', 'port too large'],
  ['https://hooks.example.com:80a/', 'url_invalid', 'port not a number'],
  ['https://hooks.example.com:-1/', 'url_invalid', 'port negative'],
  ['https://hooks..example.com/', 'url_invalid', 'empty label'],
  ['https://.example.com/', 'url_invalid', 'empty label'],
  ['https://hooks.example.com../', 'url_invalid', 'two final dots'],
  ['https://hooks-.example.com/', 'url_invalid', 'label that ends in a hyphen'],
  ['https://ho*ks.example.com/', 'url_invalid', 'character that no name has'],
  ["https://hooks.example.com'/", 'url_invalid', 'character that no name has'],
  [`https://${'a'.repeat(64)}.example.com/`, 'url_invalid', 'label of 64 characters'],
  [`https://${'a.'.repeat(125)}aaaa/`, 'url_invalid', 'name of 254 characters'],
  [`https://${'a.'.repeat(126)}com/`, 'url_invalid', 'name of 255 characters'],
  ['https://1.2.3.4.5/', 'url_invalid', 'five numbers'],
  ['https://256.0.0.1/', 'url_invalid', 'number too large'],
  ['https://hooks.example.1/', 'url_invalid', 'name that ends in a number'],
  ['https://[::1/', 'url_invalid', 'bracket that does not close'],
  ['https://[::g]/', 'url_invalid', 'no IPv6 address'],
  ['https://%00.example.com/', 'url_invalid', 'encoded NUL in the host'],
  ['https://hooks%2fexample.com/', 'url_invalid', 'encoded slash in the host'],
  ['https://xn--a/', 'url_invalid', 'bad punycode'],
  [`https://hooks.example.com/${'a'.repeat(2023)}`, 'url_invalid', '2,049 characters'],

  ['http://hooks.example.com/', 'url_not_https', 'plain http'],
  ['HTTP://hooks.example.com/', 'url_not_https', 'plain http, upper case'],
  ['ftp://hooks.example.com/', 'url_not_https', 'ftp'],
  ['ws://hooks.example.com/', 'url_not_https', 'web socket'],
  ['file://hooks.example.com/etc/passwd', 'url_not_https', 'file'],
  ['gopher://127.0.0.1:6379/_x', 'url_not_https', 'gopher'],

  ['https://127.0.0.1/', 'url_private_network', 'loopback'],
  ['https://127.0.0.1:8443/x?y', 'url_private_network', 'loopback with port'],
  ['https://127.0.0.1./', 'url_private_network', 'loopback with a final dot'],
  ['https://2130706433/', 'url_private_network', 'loopback as one number'],
  ['https://0x7f000001/', 'url_private_network', 'loopback in hex'],
  ['https://0X7F.0x0.0x0.0x1/', 'url_private_network', 'loopback in hex parts'],
  ['https://017700000001/', 'url_private_network', 'loopback in octal'],
  ['https://0177.0.0.1/', 'url_private_network', 'loopback in octal parts'],
  ['https://127.1/', 'url_private_network', 'loopback, short'],
  ['https://0/', 'url_private_network', '0.0.0.0'],
  ['https://10.1/', 'url_private_network', 'private, short'],
  ['https://192.168.257/', 'url_private_network', 'private, short'],
  ['https://169.254.169.254/latest/meta-data/', 'url_private_network', 'cloud metadata'],
  ['https://0xA9FEA9FE/', 'url_private_network', 'cloud metadata in hex'],
  ['https://%31%32%37.0.0.1/', 'url_private_network', 'loopback, percent-encoded'],
  ['https://１２７.０.０.１/', 'url_private_network', 'loopback, full width'],
  ['https://①②⑦.0.0.1/', 'url_private_network', 'loopback in circles'],
  ['https://127。0。0。1/', 'url_private_network', 'loopback with ideographic dots'],
  ['https://[::1]/', 'url_private_network', 'loopback'],
  ['https://[0:0:0:0:0:0:0:1]/', 'url_private_network', 'loopback, written out'],
  ['https://[::]/', 'url_private_network', 'unspecified'],
  ['https://[::ffff:127.0.0.1]/', 'url_private_network', 'mapped loopback'],
  ['https://[::FFFF:7F00:1]/', 'url_private_network', 'mapped loopback in hex'],
  ['https://[64:ff9b::10.0.0.1]/', 'url_private_network', 'NAT64 to private'],
  ['https://[2002:7f00:1::]/', 'url_private_network', '6to4 to loopback'],
  ['https://[2001:0:808:808::80ff:fffe]/', 'url_private_network', 'Teredo to loopback'],
  ['https://[fd00::1]/', 'url_private_network', 'unique local'],
  ['https://[fe80::1]/', 'url_private_network', 'link-local'],
  ['https://[fe80::1%25eth0]/', 'url_private_network', 'zone'],
  ['https://[fe80::1%eth0]/', 'url_private_network', 'zone, not encoded'],
  ['https://localhost/', 'url_private_network', 'localhost'],
  ['https://LOCALHOST:8443/', 'url_private_network', 'localhost, upper case'],
  ['https://localhost./', 'url_private_network', 'localhost with a final dot'],
  ['https://api.localhost/', 'url_private_network', 'below localhost'],
  ['https://%6cocalhost/', 'url_private_network', 'localhost, percent-encoded'],
  ['https://ｌｏｃａｌｈｏｓｔ/', 'url_private_network', 'localhost, full width'],
  ['https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/', 'url_private_network', 'localhost in circles'],
  ['https://printer.local/', 'url_private_network', 'multicast DNS'],
  ['https://PRINTER.LOCAL./', 'url_private_network', 'multicast DNS with a final dot'],
  ['https://metadata.google.internal/', 'url_private_network', 'cloud metadata'],
  ['https://kubernetes.default.svc.cluster.local/', 'url_private_network', 'cluster service'],
  ['https://router.home.arpa/', 'url_private_network', 'home network'],
  ['https://internal/', 'url_private_network', 'single label'],
  ['https://redis:6379/', 'url_private_network', 'single label'],
  ['https://com./', 'url_private_network', 'single label with a final dot'],
];

const ACCEPTED: readonly (readonly [url: string, host: string])[] = [
  ['https://hooks.example.com', 'hooks.example.com'],
  ['https://hooks.example.com/path/x?y=1&z=%20', 'hooks.example.com'],
  ['https://HOOKS.Example.COM:8443/', 'hooks.example.com'],
  ['HTTPS://hooks.example.com/', 'hooks.example.com'],
  ['https://hooks.example.com./', 'hooks.example.com'],
  ['https://my_hooks.example.com/', 'my_hooks.example.com'],
  ['https://münchen.example/', 'xn--mnchen-3ya.example'],
  ['https://例え.テスト/', 'xn--r8jz45g.xn--zckzah'],
  ['https://8.8.8.8/', '8.8.8.8'],
  ['https://134744072/', '8.8.8.8'],
  ['https://[2606:4700::1111]/', '2606:4700::1111'],
  ['https://[2606:4700:0:0:0:0:0:1111]:8443/', '2606:4700::1111'],
  ['https://localhost.example.com/', 'localhost.example.com'],
  ['https://internal.example.com/', 'internal.example.com'],
  ['https://notlocalhost.example/', 'notlocalhost.example'],
  ['https://mylocal.dev/@user', 'mylocal.dev'],
  [`https://hooks.example.com/${'a'.repeat(2022)}`, 'hooks.example.com'],
  [`https://${'a.'.repeat(125)}com/`, `${'a.'.repeat(125)}com`],
];

describe('checkEndpointUrl', () => {
  it.each(REFUSED)('refuses %j as %s: %s', (url, code) => {
    expect(checkEndpointUrl(url, STRICT)).toMatchObject({ ok: false, code });
  });

  it.each(ACCEPTED)('accepts %s with the host %s', (url, expected) => {
    const check = checkEndpointUrl(url, STRICT);
    if (!check.ok) throw new Error(check.detail);
    expect(check.host.kind === 'ip' ? check.host.address : check.host.name).toBe(expected);
  });

  it('never throws', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.webUrl(),
          fc.string().map((text) => `https://${text}`),
        ),
        (text) => {
          expect(typeof checkEndpointUrl(text, STRICT).ok).toBe('boolean');
        },
      ),
    );
  });

  describe('where http and loopback are allowed', () => {
    it.each([
      'http://127.0.0.1:3001/x',
      'http://localhost:3001/x',
      'https://localhost/',
      'http://app.localhost/',
      'http://[::1]:80/',
    ])('accepts %s', (url) => {
      expect(checkEndpointUrl(url, DEVELOPMENT)).toMatchObject({ ok: true });
    });

    it.each([
      'http://10.0.0.1/',
      'http://redis:6379/',
      'http://printer.local/',
      'http://0.0.0.0/',
      'http://db.internal/',
    ])('still refuses %s', (url) => {
      expect(checkEndpointUrl(url, DEVELOPMENT)).toMatchObject({ ok: false, code: 'url_private_network' });
    });

    it('still refuses any other scheme', () => {
      expect(checkEndpointUrl('ftp://127.0.0.1/', DEVELOPMENT)).toMatchObject({ ok: false, code: 'url_not_https' });
    });

    it('refuses localhost where another network is allowed, but not loopback', () => {
      const rules = { allowHttp: true, allowedNetworks: parseNetworks('10.0.0.0/8') };
      expect(checkEndpointUrl('http://localhost/', rules)).toMatchObject({ ok: false, code: 'url_private_network' });
      expect(checkEndpointUrl('http://10.0.0.1/', rules)).toMatchObject({ ok: true });
    });
  });
});
