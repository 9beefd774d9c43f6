import { formatIp, parseIp, type Network, type Ports } from '#libs/runtime';
import { classifyAddress } from './addresses/index.js';
import { isAllowedPort, refusalOfPort } from './ports.js';

export interface EndpointUrlRules {
  /** `ALLOW_HTTP_URLS` */
  readonly allowHttp: boolean;
  /** `ALLOWED_PRIVATE_NETWORKS` */
  readonly allowedNetworks: readonly Network[];
  /** `DENIED_NETWORKS`; they win over allowed ones. */
  readonly deniedNetworks?: readonly Network[];
  /** `ALLOWED_PORTS`; every port if it is missing. */
  readonly ports?: Ports;
}

/**
 * The host to connect to: an address in its usual spelling (no brackets), or a lower-case ASCII name without a final
 * dot.
 */
export type EndpointHost =
  { readonly kind: 'ip'; readonly address: string } | { readonly kind: 'name'; readonly name: string };

export type EndpointUrlErrorCode = 'url_invalid' | 'url_not_https' | 'url_private_network';

export type EndpointUrlCheck =
  | { readonly ok: true; readonly url: URL; readonly host: EndpointHost }
  | { readonly ok: false; readonly code: EndpointUrlErrorCode; readonly detail: string };

const MAX_URL_LENGTH = 2048;
/** `scheme://authority`, then the rest. */
const PARTS = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)/i;
/**
 * Names with a meaning on the local network only. They are never sent to a name server (RFC 6761, RFC 6762, RFC 8375).
 */
const PRIVATE_SUFFIXES = ['localhost', 'local', 'internal', 'home.arpa'];
const LABEL = /^[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?$/;

function refuse(code: EndpointUrlErrorCode, detail: string): EndpointUrlCheck {
  return { ok: false, code, detail };
}

/** Whether the name is `localhost` or below it: always loopback, never looked up (RFC 6761). */
export function isLocalhost(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

/** The loopback addresses that the configuration allows; `localhost` resolves to these. */
export function allowedLoopback(allowedNetworks: readonly Network[]): readonly string[] {
  return ['127.0.0.1', '::1'].filter((address) => classifyAddress(address, allowedNetworks).kind === 'allowed');
}

function checkAddress(url: URL, address: string, rules: EndpointUrlRules): EndpointUrlCheck {
  const bytes = parseIp(address);
  if (bytes === undefined) return refuse('url_invalid', 'the host is not a valid address');
  const verdict = classifyAddress(bytes, rules.allowedNetworks, rules.deniedNetworks);
  if (verdict.kind === 'refused') {
    return refuse('url_private_network', `${formatIp(bytes)} is not a public address: ${verdict.reason}`);
  }
  return { ok: true, url, host: { kind: 'ip', address: formatIp(bytes) } };
}

function checkName(url: URL, name: string, allowedNetworks: readonly Network[]): EndpointUrlCheck {
  if (name.length > 253 || !name.split('.').every((label) => LABEL.test(label))) {
    return refuse('url_invalid', 'the host is not a valid name');
  }
  const allowed = isLocalhost(name) && allowedLoopback(allowedNetworks).length > 0;
  const isPrivate = PRIVATE_SUFFIXES.some((suffix) => name === suffix || name.endsWith(`.${suffix}`));
  if (!allowed && (isPrivate || !name.includes('.'))) {
    return refuse('url_private_network', `${name} is not a public name`);
  }
  return { ok: true, url, host: { kind: 'name', name } };
}

/**
 * Runs the checks of an endpoint's url that need no name server (contract 5.2, 6.5).
 *
 * The WHATWG URL parser first normalizes odd spellings of the host (`0x7f.1`, `①②⑦.0.0.1`, `%6cocalhost`). Input that
 * the parser would repair silently (white space, backslashes, missing slashes, lone surrogates) is refused, so that every
 * client reads the url the same way. `localhost` and names below it need an allowed network that holds 127.0.0.1 or ::1;
 * see `resolveEndpointAddress`.
 */
export function checkEndpointUrl(text: string, rules: EndpointUrlRules): EndpointUrlCheck {
  const { allowHttp, allowedNetworks, ports } = rules;
  if (text.length > MAX_URL_LENGTH) return refuse('url_invalid', `the url is longer than ${MAX_URL_LENGTH} characters`);
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\s\\\u0000-\u001f\u007f\p{Surrogate}]/u.test(text)) {
    return refuse('url_invalid', 'the url contains white space, a control character, half a character or a backslash');
  }
  const [, scheme = '', authority = ''] = PARTS.exec(text) ?? [];
  if (scheme === '' || authority === '') return refuse('url_invalid', 'the url is not of the form https://host/path');
  const secure = scheme.toLowerCase() === 'https';
  if (!secure && !(allowHttp && scheme.toLowerCase() === 'http')) {
    return refuse('url_not_https', 'the url must begin with https://');
  }
  if (authority.includes('@')) return refuse('url_invalid', 'the url must not contain credentials');
  if (text.includes('#')) return refuse('url_invalid', 'the url must not contain a fragment');
  if (/^\[[^\]]*%/.test(authority)) {
    return refuse('url_private_network', 'an address with a zone is not a public address');
  }
  if (!URL.canParse(text)) return refuse('url_invalid', 'the url has no valid host or port');
  const url = new URL(text);
  if (url.port === '0') return refuse('url_invalid', 'port 0 cannot be connected to');
  if (ports !== undefined && !isAllowedPort(url, ports)) {
    return refuse('url_invalid', refusalOfPort(url, ports));
  }
  const { hostname } = url;
  if (hostname.startsWith('[')) return checkAddress(url, hostname.slice(1, -1), rules);
  // The URL parser prints every IPv4 address in dotted decimal, and refuses other hosts that end in a number.
  if (/^[\d.]+$/.test(hostname)) return checkAddress(url, hostname, rules);
  return checkName(url, hostname.endsWith('.') ? hostname.slice(0, -1) : hostname, allowedNetworks);
}
