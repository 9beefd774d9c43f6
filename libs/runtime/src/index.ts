export * from './back-off.js';
export * from './committed-file.js';
export * from './config.js';
export * from './duration.js';
export * from './health-board.js';
export * from './identifiers.js';
export * from './logger.js';
