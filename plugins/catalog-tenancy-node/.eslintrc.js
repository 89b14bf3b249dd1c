module.exports = require('@backstage/cli/config/eslint-factory')(__dirname, {
  rules: {
    'jest/no-standalone-expect': [
      'error',
      {
        additionalTestBlockFunctions: ['itOnOneServer', 'itOnOneServer.each'],
      },
    ],
  },
});
