export { contains, formatIp, parseBlock, parseIp, type Block, type IpBytes } from './ip-bytes.js';
export { networkOf, parseNetworks, type Network } from './networks.js';
export { parsePorts, type Ports } from './ports.js';
