export * from './addresses/index.js';
export {
  type EndpointHost,
  type EndpointUrlCheck,
  type EndpointUrlErrorCode,
  type EndpointUrlRules,
} from './endpoint-url.js';
export { endpointUrlRules } from './endpoint-url-rules.js';
export * from './push/index.js';
export { checkEndpointAddress, type EndpointAddressCheck, type EndpointAddresses } from './resolve-endpoint-address.js';
export { createResolver, type Resolution, type Resolver, type ResolverOptions } from './resolver.js';
