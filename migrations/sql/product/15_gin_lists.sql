do $$
declare
  leaf regclass;
begin
  for leaf in
    select t.relid
      from unnest('{entities_partitioned_live_name_idx,entities_partitioned_final_entity_idx}'::text[]) parent,
           lateral pg_partition_tree(to_regclass(parent)) t
     where t.isleaf
  loop
    execute format('alter index %s set (fastupdate = on, gin_pending_list_limit = 64)', leaf);
  end loop;
end $$;
