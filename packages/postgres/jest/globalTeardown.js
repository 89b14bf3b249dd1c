'use strict';

module.exports = async () => {
  await Promise.all(globalThis.testServers.map(server => server.stop()));
};
