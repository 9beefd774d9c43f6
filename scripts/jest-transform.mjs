import swc from '@swc/jest';

/**
 * Compiles TypeScript for jest. The projects of jest.config.js compile the same files in the same way, so a file in the
 * cache is one of all projects: its key has none of the settings of the project.
 */
export default {
  createTransformer(options) {
    const transformer = swc.createTransformer(options);
    return {
      ...transformer,
      // The path is in the output, for stack traces.
      getCacheKey: (source, path, more) => transformer.getCacheKey(source, path, { ...more, configString: path }),
    };
  },
};
