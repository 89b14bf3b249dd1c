import { createTestDatabases, waitUntil } from '@internal/postgres/testUtils';
import { mockServices } from '@backstage/backend-test-utils';
import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import type { Knex } from 'knex';
import { randomUUID } from 'node:crypto';
import { EnginePool } from '../work/EnginePool';
import { READS_TABLE, ReadsUnderWay, SET_ASIDE } from './ReadsUnderWay';

type Begin = (ref: string) => Promise<void>;

const databases = createTestDatabases({ versions: 'newest' });

describe.each(databases.eachSupportedId())(
  'the reads of processes on %s',
  id => {
    const [tenantId, otherId] = [randomUUID(), randomUUID()];
    let knex: Knex;
    let pool: EnginePool;

    beforeAll(async () => {
      knex = await databases.init(id);
      for (const schema of [tenantId, otherId].map(engineSchemaOf)) {
        await knex.raw(`create schema ??`, [schema]);
        for (const [table, columns] of [
          ['refresh_state', 'entity_ref text, next_update_at timestamptz'],
          [
            'refresh_state_references',
            'source_entity_ref text, target_entity_ref text',
          ],
        ]) {
          await knex.raw(`create table ??.?? (${columns})`, [schema, table]);
        }
      }
      pool = new EnginePool({
        connection: knex.client.config.connection,
        max: 5,
        logger: mockServices.logger.mock(),
      });
    });

    beforeEach(() =>
      knex.raw('drop table if exists ??.??', [
        engineSchemaOf(tenantId),
        READS_TABLE,
      ]),
    );

    afterAll(() => pool.close());

    /** One that dies is not used any more. */
    function startProcess({ longestMs = 3_600_000 } = {}) {
      const reads = new ReadsUnderWay({ pool, longestMs });
      return {
        begin: (ref: string) => reads.begin(tenantId, ref),
        beginOther: (ref: string) => reads.begin(otherId, ref),
        end: (ref: string) => reads.end(tenantId, ref),
        leave: () => reads.leave(tenantId),
        resume: (ref: string) => reads.resume(tenantId, ref),
      };
    }

    it('are read alone after the first death, so that the second one is that of its cause', async () => {
      const first = startProcess();
      await Promise.all(['a', 'b', 'done'].map(first.begin));
      first.end('done');
      // Its end goes with this.
      await first.begin('c');

      const second = startProcess();
      await second.begin('done');
      await second.begin('a');
      const begun: string[] = [];
      const others = ['b', 'c'].map(ref =>
        second.begin(ref).then(() => begun.push(ref)),
      );
      await second.begin('new');
      expect(begun).toEqual([]);
      second.end('a');
      await others[0];
      expect(begun).toEqual(['b']);

      const third = startProcess();
      await expect(third.begin('b')).rejects.toThrow(SET_ASIDE);
      // Again and again, without another death.
      await expect(third.begin('b')).rejects.toThrow(SET_ASIDE);
      await expect(startProcess().begin('b')).rejects.toThrow(SET_ASIDE);
      await third.begin('a');
      third.end('a');
      await third.begin('c');
    });

    it('of several tenants are read alone in turn, however many one of them has', async () => {
      const first = startProcess();
      await Promise.all([
        ...['a', 'b'].map(first.begin),
        first.beginOther('c'),
      ]);
      const next = startProcess();
      await next.begin('a');
      const begun: string[] = [];
      const begins = async (tenant: string, ref: string, begin: Begin) => {
        const beginning = begin(ref).then(() => begun.push(ref));
        await waitUntil(`${ref} to wait`, async () => {
          const { rows } = await knex.raw(
            'select from ??.?? where entity_ref = ? and process_id is null',
            [engineSchemaOf(tenant), READS_TABLE, ref],
          );
          return rows.length > 0;
        });
        // Not to be awaited.
        return { beginning };
      };
      const second = await begins(tenantId, 'b', next.begin);
      const other = await begins(otherId, 'c', next.beginOther);
      // Its statement follows the others of that tenant.
      await next.beginOther('new');
      next.end('a');
      await Promise.race([second.beginning, other.beginning]);
      expect(begun).toEqual(['c']);
    });

    it('go on alone where one of them has no end', async () => {
      await Promise.all(['a', 'b'].map(startProcess().begin));
      const next = startProcess({ longestMs: 1 });
      await next.begin('a');
      await expect(next.begin('b')).resolves.toBeUndefined();
    });
  },
);
