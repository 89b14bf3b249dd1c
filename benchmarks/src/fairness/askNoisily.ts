import { Random } from '@internal/postgres';
import { parentPort, workerData } from 'node:worker_threads';
import { keepAsking } from '../load';
import { createClients, RequestLog } from '../load/LoadClient';
import { SERVICE_TOKEN } from '../harness/servers';
import { NOISE } from './noise';
import type { Command, NoiseReport, NoiseSettings } from './NoisyClients';

// The thread of NoisyClients.

const { url, tenant, noise, requests } = workerData as NoiseSettings;

const { clients } = createClients(
  url,
  Array.from({ length: requests }, (_, index) => ({
    token: SERVICE_TOKEN,
    naming: 'header',
    tenant,
    tasks: [NOISE[noise]],
    random: new Random(index),
  })),
);
const total = new RequestLog();
let isOver = false;
let asking: Promise<RequestLog>;

parentPort!.on('message', async (command: Command) => {
  if (command === 'ask') {
    isOver = false;
    asking = keepAsking(clients, () => isOver);
    return;
  }
  isOver = true;
  total.add(await asking);
  const report: NoiseReport = { rows: total.rows(), failures: total.failures };
  parentPort!.postMessage(report);
});
