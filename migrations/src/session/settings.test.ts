import {
  createTestDatabases,
  HOSTILE_SETTINGS,
} from '@internal/postgres/testUtils';
import { openCatalogDatabase } from '../__testUtils__/catalogDatabase';

const databases = createTestDatabases({ versions: 'every' });

/**
 * All settings that a database or a role can carry, by what becomes of them. Those of
 * HOSTILE_SETTINGS are given to databases in the tests of commands, of the pool of tenants, of
 * engines and of mockups.
 */
const SETTINGS: Record<string, string> = {
  // Set by each session, or by each function that runs in a session of others, where it matters.
  'set by us': `array_nulls bytea_output check_function_bodies client_min_messages
    createrole_self_grant DateStyle default_table_access_method default_transaction_deferrable
    default_transaction_isolation exit_on_error extra_float_digits gin_fuzzy_search_limit
    IntervalStyle jit quote_all_identifiers restrict_nonsystem_relation_kind row_security
    search_path standard_conforming_strings TimeZone transform_null_equals`,

  // Off in commands. In the application what the operator says holds, and fails by name.
  'set by commands': `idle_in_transaction_session_timeout idle_session_timeout lock_timeout
    statement_timeout transaction_timeout`,

  // By preflight, by the command, or at the start of a backend.
  'refused by name': `default_transaction_read_only session_replication_role deadlock_timeout
    event_triggers`,

  // Sent by the driver when it connects, over what a database or a role says.
  'set by the driver': 'application_name client_encoding',

  // Each transaction begins with the defaults of above.
  'of one transaction': `transaction_deferrable transaction_isolation transaction_read_only`,

  // What is read or written is the same, sooner or later, with more or less memory or disk.
  'speed and resources': `backend_flush_after commit_delay commit_siblings constraint_exclusion
    cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction
    debug_parallel_query default_statistics_target default_tablespace default_toast_compression
    effective_cache_size effective_io_concurrency enable_async_append enable_bitmapscan
    enable_distinct_reordering enable_gathermerge enable_group_by_reordering enable_hashagg
    enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan
    enable_material enable_memoize enable_mergejoin enable_nestloop enable_parallel_append
    enable_parallel_hash enable_partition_pruning enable_partitionwise_aggregate
    enable_partitionwise_join enable_presorted_aggregate enable_self_join_elimination
    enable_seqscan enable_sort enable_tidscan file_copy_method force_parallel_mode
    from_collapse_limit geqo geqo_effort geqo_generations geqo_pool_size geqo_seed
    geqo_selection_bias geqo_threshold gin_pending_list_limit hash_mem_multiplier
    io_combine_limit jit_above_cost jit_expressions jit_inline_above_cost
    jit_optimize_above_cost jit_tuple_deforming join_collapse_limit logical_decoding_work_mem
    maintenance_io_concurrency maintenance_work_mem max_parallel_maintenance_workers
    max_parallel_workers max_parallel_workers_per_gather max_stack_depth
    min_parallel_index_scan_size min_parallel_table_scan_size parallel_leader_participation
    parallel_setup_cost parallel_tuple_cost plan_cache_mode random_page_cost
    recursive_worktable_factor seq_page_cost stats_fetch_consistency synchronize_seqscans
    synchronous_commit temp_buffers temp_file_limit temp_tablespaces
    vacuum_buffer_usage_limit vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty
    vacuum_cost_page_hit vacuum_cost_page_miss vacuum_failsafe_age vacuum_freeze_min_age
    vacuum_freeze_table_age vacuum_max_eager_freeze_failure_rate
    vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age
    vacuum_multixact_freeze_table_age vacuum_truncate wal_compression wal_init_zero
    wal_recycle wal_sender_timeout wal_skip_threshold work_mem`,

  // Of connections, of what the server says of itself, and for its developers.
  'no effect: connections, logs and statistics': `allow_in_place_tablespaces
    allow_system_table_mods backtrace_functions client_connection_check_interval
    compute_query_id debug_discard_caches debug_logical_replication_streaming
    debug_pretty_print debug_print_parse debug_print_plan debug_print_rewritten
    dynamic_library_path extension_control_path icu_validation_level ignore_checksum_failure
    ignore_system_indexes jit_debugging_support jit_dump_bitcode jit_profiling_support
    local_preload_libraries log_connections log_disconnections log_duration
    log_error_verbosity log_executor_stats log_lock_failures log_lock_waits
    log_min_duration_sample log_min_duration_statement log_min_error_statement
    log_min_messages log_parameter_max_length log_parameter_max_length_on_error
    log_parser_stats log_planner_stats log_replication_commands log_statement
    log_statement_sample_rate log_statement_stats log_temp_files log_transaction_sample_rate
    md5_password_warnings post_auth_delay session_preload_libraries tcp_keepalives_count
    tcp_keepalives_idle tcp_keepalives_interval tcp_user_timeout trace_notify trace_sort
    track_activities track_cost_delay_timing track_counts track_functions track_io_timing
    track_wal_io_timing update_process_title wal_consistency_checking zero_damaged_pages`,

  // Words, numbers of money, XML, full text search, large objects, passwords and \\' in texts:
  // no statement of ours has any of them.
  'no effect: what we do not use': `backslash_quote default_text_search_config
    escape_string_warning lc_messages lc_monetary lc_numeric lc_time lo_compat_privileges
    password_encryption scram_iterations timezone_abbreviations xmlbinary xmloption`,
};

const OF: [name: string, what: string][] = Object.entries(SETTINGS).flatMap(
  ([what, names]) =>
    names.split(/\s+/).map((name): [string, string] => [name, what]),
);

it('says one thing of each setting', () => {
  const names = OF.map(([name]) => name);
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
});

it('gives databases hostile values of all that it sets', () => {
  const hostile = Object.keys(HOSTILE_SETTINGS);
  const set = OF.filter(([, what]) => what === 'set by us').map(([name]) =>
    name.toLowerCase(),
  );
  // No server of the tests has another kind of table, and with the others Backstage's own
  // sessions would not work either: the test of commands has them.
  const others = [
    'default_table_access_method',
    'exit_on_error',
    'search_path',
  ];
  expect(
    set.filter(name => !hostile.includes(name) && !others.includes(name)),
  ).toEqual([]);
});

it.each(databases.eachSupportedId())(
  'knows every setting that a database or a role can carry on %s',
  async id => {
    const database = await openCatalogDatabase(await databases.create(id));
    const { rows } = await database.client.query<{ name: string }>(
      `select name from pg_settings
        where context in ('user', 'superuser', 'backend', 'superuser-backend')
          -- Of extensions.
          and name not like '%.%'
        order by name`,
    );
    const known = OF.map(([name]) => name);
    expect(
      rows.map(({ name }) => name).filter(name => !known.includes(name)),
    ).toEqual([]);
    await database.close();
  },
);
