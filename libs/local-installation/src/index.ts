export { writeCredentials, type Credentials } from './demo-credentials.js';
export { embeddedEnvironment } from './embedded-environment.js';
