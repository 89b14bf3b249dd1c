import type { StepContext } from '../../../engine/Step';
import { SYNC } from './triggers';

export async function fillTerms({ executor }: StepContext): Promise<void> {
  await executor.execute(`do $$
declare
  item record;
begin
  for item in
    select tenant_id, entity_id, final_entity from entities
     where deleted_at is null order by 1, 2 for share
  loop
    perform ${SYNC}(item.tenant_id, array[item.entity_id], array[item.final_entity]);
  end loop;
end $$`);
  await executor.execute('vacuum (analyze) entity_search');
}

export async function dropFill(): Promise<void> {}
