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
 *
 * @public
 */
export class AuditedAdminDatabase implements AdminDatabase {
  readonly #pool: TenancyPool;
  readonly #auditor: AuditorService;
  readonly #replica: Pick<ReadReplica, 'writing'> | undefined;

  constructor(options: {
    pool: TenancyPool;
    auditor: AuditorService;
    replica?: Pick<ReadReplica, 'writing'>;
  }) {
    this.#pool = options.pool;
    this.#auditor = options.auditor;
    this.#replica = options.replica;
  }

  /** {@inheritDoc AdminDatabase.run} */
  async run<T>(
    reason: string,
    work: (transaction: AdminTransaction) => Promise<T>,
  ): Promise<T> {
    const event = await this.#auditor.createEvent({
      eventId: ADMIN_EVENT,
      severityLevel: 'medium',
      meta: { reason },
    });
    // Without an id: the transaction may write rows of any tenant.
    const end = this.#replica?.writing();
    let result: T;
    try {
      result = await this.#pool.transaction(
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
