export { writeCredentials, type Credentials } from './demo-credentials.js';
export { embeddedEnvironment } from './embedded-environment.js';
export { STAGE_NODE_OPTIONS } from './stage-node-options.js';
