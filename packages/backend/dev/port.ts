import { once } from 'events';
import { AddressInfo, createServer } from 'net';
import { StartError } from './StartError';

/** Fails early and on one line, where the backend would do so late and on many. */
export async function assertPortIsFree(listen: {
  host: string;
  port: number;
}): Promise<void> {
  const probe = createServer();
  try {
    probe.listen(listen.port, listen.host);
    await once(probe, 'listening');
  } catch (error) {
    throw new StartError(explain(listen, error as NodeJS.ErrnoException));
  }
  probe.close();
  await once(probe, 'close');
}

function explain(
  { host, port }: { host: string; port: number },
  error: NodeJS.ErrnoException,
): string {
  return error.code === 'EADDRINUSE'
    ? `Port ${port} is taken, maybe by another \`npm start\`: stop that, or set ` +
        `backend.listen.port and backend.baseUrl in app-config.local.yaml`
    : `The backend can't listen on ${host}:${port}: ${error.message}`;
}

/** A port on this machine that nothing listens on, right now. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, 'localhost');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}
