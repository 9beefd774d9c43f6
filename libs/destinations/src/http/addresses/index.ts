export { classifyAddress, type AddressClass, type Refusal } from './classify-address.js';
