export { writeAddresses, writeCredentials, type Credentials } from './demo-credentials.js';
export { embeddedEnvironment } from './embedded-environment.js';
export { fitOwnTopics } from './fit-own-topics.js';
export { STAGE_NODE_OPTIONS } from './stage-node-options.js';
