module.exports = require('@backstage/cli/config/eslint-factory')(__dirname, {
  overrides: [
    {
      // Tests in the browser are made by `inBrowser`, which this rule does not know.
      files: ['e2e-tests/**'],
      rules: { 'jest/no-standalone-expect': 'off' },
    },
  ],
});
