'use strict';

const { stopTestServers } = require('../src/testServers');

module.exports = async () => {
  await stopTestServers(globalThis.testServers);
};
