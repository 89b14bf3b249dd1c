import type { AddressInfo } from 'node:net';
import { HOST } from '../port';
import { serve } from '../serve';
import type { ProxySettings } from './settings';
import { startProxy } from './startProxy';

serve<ProxySettings>(async settings => {
  const server = await startProxy(settings);
  return `tcp://${HOST}:${(server.address() as AddressInfo).port}`;
});
