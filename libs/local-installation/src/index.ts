export { writeCredentials, type Credentials } from './demo-credentials.js';
