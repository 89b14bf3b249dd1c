import { startTogether } from './servers';

const createServer = () => ({ stop: jest.fn(async () => undefined) });

it('waits for all servers, in their order', async () => {
  const [a, b] = [createServer(), createServer()];
  const late = new Promise<typeof a>(resolve => setImmediate(resolve, a));
  await expect(startTogether([late, Promise.resolve(b)])).resolves.toEqual([
    a,
    b,
  ]);
  expect(a.stop).not.toHaveBeenCalled();
});

it('stops the others if one does not start', async () => {
  const server = createServer();
  const late = new Promise<typeof server>(resolve =>
    setImmediate(resolve, server),
  );
  const failing = Promise.reject(new Error('no port'));
  await expect(startTogether([failing, late])).rejects.toThrow('no port');
  expect(server.stop).toHaveBeenCalledTimes(1);
});
