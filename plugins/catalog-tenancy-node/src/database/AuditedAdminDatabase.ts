import type { AuditorService } from '@backstage/backend-plugin-api';
import { toError } from '@backstage/errors';
import { currentChange } from '../audit/auditedChange';
import type { ReadReplica } from '../replica/ReadReplica';
import type { AdminDatabase, AdminTransaction } from './AdminDatabase';
import type { TenancyPool } from '../pool/TenancyPool';

/**
 * The id of the audit event of each administrator's transaction.
 *
 * @public
 */
export const ADMIN_EVENT = 'tenancy-admin';

const noop = () => undefined;

/**
 * {@link AdminDatabase} on a {@link TenancyPool}, with the auditor of a plugin.
 */
export class AuditedAdminDatabase implements AdminDatabase {
  constructor(
    private readonly options: {
      pool: TenancyPool;
      auditor: AuditorService;
      replica?: Pick<ReadReplica, 'writing'>;
    },
  ) {}

  async run<T>(
    reason: string,
    work: (transaction: AdminTransaction) => Promise<T>,
  ): Promise<T> {
    const event = await this.options.auditor.createEvent({
      eventId: ADMIN_EVENT,
      severityLevel: 'medium',
      meta: { reason },
    });
    // Without an id: the transaction may write rows of any tenant.
    const end = this.options.replica?.writing();
    let result: T;
    try {
      result = await this.options.pool.transaction(
        { asAdmin: true },
        work,
        currentChange(),
      );
    } catch (error) {
      await event.fail({ error: toError(error) }).catch(noop);
      throw error;
    } finally {
      end?.();
    }
    // The transaction is committed, so a failing auditor must not fail the call.
    await event.success().catch(noop);
    return result;
  }
}
