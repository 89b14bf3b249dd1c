'use strict';

const { startTestServers } = require('../src/testServers');

module.exports = async () => {
  globalThis.testServers = await startTestServers();
};
