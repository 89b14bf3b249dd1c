import { engineSchemaOf } from 'backstage-catalog-tenancy-migrations';
import { escapeIdentifier } from 'pg';
import type { BackgroundWork } from './BackgroundWork';
import type { EnginePool, SchemaDatabase } from './EnginePool';
import { type Due, Hibernation } from './Hibernation';

/** Are processed within a second or two. */
const FEW_ITEMS = 100;

/**
 * The database of an engine that starts. Closed, the engine's polls end.
 *
 * @param options - `onIdle` is called when nothing is due and nothing under way
 */
export function openEngineDatabase(
  pool: EnginePool,
  options: { tenantId: string; work: BackgroundWork; onIdle: () => void },
): SchemaDatabase & { hibernation: Hibernation } {
  const { tenantId, work, onIdle } = options;
  const schema = engineSchemaOf(tenantId);
  const hibernation = new Hibernation({
    work,
    onIdle,
    readDue: () => readDue(pool, schema),
  });
  const database = pool.forSchema(schema, { gate: hibernation });
  return {
    knex: database.knex,
    hibernation,
    close() {
      hibernation.stop();
      database.close();
    },
  };
}

async function readDue(pool: EnginePool, name: string): Promise<Due> {
  const schema = escapeIdentifier(name);
  const inMs = (min: string) =>
    `extract(epoch from ${min} - clock_timestamp())::float8 * 1000`;
  const [{ processing, stitching, hasFewItems }] = await pool.query<{
    processing: number | null;
    stitching: number | null;
    hasFewItems: boolean;
  }>(
    `select (select ${inMs('min(next_update_at)')}
               from ${schema}.refresh_state) as processing,
            (select ${inMs('min(next_stitch_at)')}
               from ${schema}.stitch_queue) as stitching,
            not exists (select from ${schema}.refresh_state
                        offset ${FEW_ITEMS}) as "hasFewItems"`,
    [],
    name,
  );
  return {
    hasFewItems,
    processing: processing ?? undefined,
    stitching: stitching ?? undefined,
  };
}
