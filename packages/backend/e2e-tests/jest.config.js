'use strict';

// `npm run test:e2e`, apart from `npm test`: it takes minutes and needs Chromium.
module.exports = {
  rootDir: __dirname,
  testMatch: ['<rootDir>/**/*.test.ts'],
  testEnvironment: 'node',
  // More than any deadline within a test, whose failure names what was waited for.
  testTimeout: 600_000,
  transform: {
    '\\.ts$': [
      require.resolve('@backstage/cli/config/jestSwcTransform'),
      { jsc: { parser: { syntax: 'typescript' } } },
    ],
  },
};
