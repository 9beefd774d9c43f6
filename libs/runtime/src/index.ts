export * from './back-off.js';
export * from './config.js';
export * from './duration.js';
export * from './health-board.js';
export * from './identifiers.js';
export * from './load-config.js';
export * from './logger.js';
export { readSetting, type Environment, type Setting } from './setting.js';
export * from './settings.js';
