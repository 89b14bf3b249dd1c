import { once } from 'events';
import { AddressInfo, createServer } from 'net';
import { assertPortIsFree } from './port';

describe('assertPortIsFree', () => {
  it('names the port that is taken, and only while it is', async () => {
    const other = createServer().listen(0, 'localhost');
    await once(other, 'listening');
    const listen = { ...(other.address() as AddressInfo), host: 'localhost' };

    await expect(assertPortIsFree(listen)).rejects.toThrow(
      new RegExp(`^Port ${listen.port} is taken.*$`),
    );
    other.close();
    await once(other, 'close');
    await expect(assertPortIsFree(listen)).resolves.toBeUndefined();
  });

  it('says that an address is not of this machine', async () => {
    const listen = { host: '192.0.2.1', port: 7007 };
    await expect(assertPortIsFree(listen)).rejects.toThrow(
      /^The backend can't listen on 192\.0\.2\.1:7007: .*EADDRNOTAVAIL/,
    );
  });
});
