export { classifyAddress, type AddressClass, type Refusal } from './classify-address.js';
export { formatIp, parseIp, type IpBytes } from './ip-bytes.js';
export { networkOf, parseNetworks, type Network } from './networks.js';
