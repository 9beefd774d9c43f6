export * from './config.js';
export * from './database-name.js';
export * from './duration.js';
export * from './load-config.js';
export { readSetting, type Environment, type Setting } from './setting.js';
export * from './settings.js';
