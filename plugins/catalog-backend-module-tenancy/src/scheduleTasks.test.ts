import { mockServices, type ServiceMock } from '@backstage/backend-test-utils';
import type { LoggerService } from '@backstage/backend-plugin-api';
import {
  AdminAccessError,
  type AdminDatabase,
} from 'backstage-plugin-catalog-tenancy-node';
import { scheduleTasks } from './scheduleTasks';

describe('the daily purge', () => {
  let logger: ServiceMock<LoggerService>;

  async function schedule(run: AdminDatabase['run']) {
    const scheduler = mockServices.scheduler.mock();
    await scheduleTasks({
      admin: { run },
      adoption: { retryFaults: jest.fn() },
      logger,
      scheduler,
      trail: { deleteOld: async () => 3, send: jest.fn() },
      usage: { countEntities: jest.fn() },
      sendsEvents: false,
    });
    const task = scheduler.scheduleTask.mock.calls
      .flat()
      .find(({ id }) => id === 'tenancy-purge-deleted-entities')!;
    return {
      task,
      invoke: async () => {
        const fn = task.fn as (signal: AbortSignal) => Promise<void>;
        await fn(new AbortController().signal);
      },
    };
  }

  beforeEach(() => {
    logger = mockServices.logger.mock();
  });

  it('runs once a day, in one of the backends', async () => {
    const { task } = await schedule(jest.fn());
    expect(task).toMatchObject({ scope: 'global', frequency: { days: 1 } });
  });

  it('says what it needs where the database user is no administrator', async () => {
    const { invoke } = await schedule(async () => {
      throw new AdminAccessError();
    });
    await invoke();
    expect(logger.warn).toHaveBeenCalledWith(
      expect.stringContaining('is not a member of portal_admin'),
    );
  });

  it('fails by any other error, so that the scheduler tells', async () => {
    const { invoke } = await schedule(async () => {
      throw new Error('down');
    });
    await expect(invoke()).rejects.toThrow('down');
  });
});
