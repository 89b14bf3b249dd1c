import { mockupStoreServiceMock } from 'backstage-plugin-mockup-node/testUtils';
import { StoreHandover } from './StoreHandover';

const OWNER = { owner: 'user:default/alice' };

describe('StoreHandover', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('keeps calls waiting until the store is open', async () => {
    const handover = new StoreHandover();
    const early = handover.stores
      .forDefaultTenant()
      .create({ name: 'x' }, OWNER);
    const created = { mockup: { name: 'x' }, etag: '1' } as any;
    const stores = mockupStoreServiceMock.mock({ create: async () => created });
    await handover.open(async () => stores);
    await expect(early).resolves.toBe(created);
    expect(stores.store.create).toHaveBeenCalledWith({ name: 'x' }, OWNER);
  });

  it('rejects calls with the reason why the store could not be opened', async () => {
    const handover = new StoreHandover();
    const early = handover.stores.forDefaultTenant().list();
    const opened = handover.open(async () => {
      throw new Error('no database');
    });
    await expect(opened).rejects.toThrow('no database');
    await expect(early).rejects.toThrow('no database');
    await expect(handover.stores.forDefaultTenant().list()).rejects.toThrow(
      'no database',
    );
  });

  it('does not keep a call waiting for ever, so that a backend that cannot start says so', async () => {
    jest.useFakeTimers();
    const handover = new StoreHandover();
    const call = handover.stores.forDefaultTenant().list();
    jest.advanceTimersByTime(60_000);
    await expect(call).rejects.toThrow('The mockup plugin has not started');
  });
});
