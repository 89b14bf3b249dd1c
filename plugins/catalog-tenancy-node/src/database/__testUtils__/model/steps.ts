import type { Knex } from 'knex';
import type { TenantScope } from '../../TenantDatabase';
import { entityRow, insertRows } from '../entityRow';
import type { Random } from '@internal/postgres/testUtils';

/** The entities of a tenant: their `hash` by their name. */
export type Entities = Map<string, string>;

/** What statements return of an entity. */
export interface Row {
  tenant_id: string;
  entity_name: string;
  hash: string;
}

/** What a statement does, in PostgreSQL and on paper. */
export interface Step {
  build(scope: TenantScope): Knex.QueryBuilder | Knex.Raw;
  /** The names of the rows that it returns, or what it fails with. */
  apply(entities: Entities): string[] | { failure: RegExp };
  /** It fails at the end of its transaction only, and none may come behind it. */
  last?: boolean;
  /** It is refused before it is sent. */
  unsent?: boolean;
}

/** What a statement fails with that is refused before it is sent. */
export const UNSENT = /may not begin with "commit"/;

const COLUMNS = ['tenant_id', 'entity_name', 'hash'];
// Few, and the same ones for all tenants.
const NAMES = Array.from({ length: 10 }, (_, index) => `e${index}`);

type CreateStep = (random: Random, otherTenant: string) => Step;

const read: CreateStep = () => ({
  build: scope => scope.table('entities').select(COLUMNS),
  apply: entities => [...entities.keys()],
});

const readWithoutPredicate: CreateStep = () => ({
  build: ({ knex }) => knex('entities').select(COLUMNS),
  apply: entities => [...entities.keys()],
});

const readOne: CreateStep = random => {
  const name = random.pick(NAMES);
  return {
    build: scope =>
      scope
        .table('entities', 'e')
        .where('e.entity_ref', entityRow(name).entity_ref)
        .select(COLUMNS),
    apply: entities => (entities.has(name) ? [name] : []),
  };
};

const readOther: CreateStep = (_, otherTenant) => ({
  build: ({ knex }) =>
    knex('entities').where('tenant_id', otherTenant).select(COLUMNS),
  apply: () => [],
});

const insert: CreateStep = random => {
  const names = NAMES.filter(() => random.chance(0.2));
  const hash = String(1 + random.below(1e6));
  const inserted = names.length > 0 ? names : [NAMES[0]];
  return {
    build: scope =>
      insertRows(
        scope,
        inserted.map(name => ({ ...entityRow(name), hash })),
      ).returning(COLUMNS),
    apply: entities => {
      if (inserted.some(name => entities.has(name))) {
        return { failure: /23505/ };
      }
      inserted.forEach(name => entities.set(name, hash));
      return inserted;
    },
  };
};

const insertMissing: CreateStep = random => {
  const name = random.pick(NAMES);
  const hash = String(1 + random.below(1e6));
  return {
    build: scope =>
      insertRows(scope, [{ ...entityRow(name), hash }])
        .onConflict()
        .ignore()
        .returning(COLUMNS),
    apply: entities => {
      if (entities.has(name)) {
        return [];
      }
      entities.set(name, hash);
      return [name];
    },
  };
};

const upsert: CreateStep = random => {
  const name = random.pick(NAMES);
  const hash = String(1 + random.below(1e6));
  return {
    build: scope =>
      insertRows(scope, [{ ...entityRow(name), hash }])
        .onConflict(['tenant_id', 'entity_ref'])
        .merge(['hash'])
        .returning(COLUMNS),
    apply: entities => {
      entities.set(name, hash);
      return [name];
    },
  };
};

const update: CreateStep = random => {
  const name = random.pick(NAMES);
  const hash = String(1 + random.below(1e6));
  return {
    build: scope =>
      scope
        .table('entities')
        .where('entity_name', name)
        .update({ hash })
        .returning(COLUMNS),
    apply: entities => {
      if (!entities.has(name)) {
        return [];
      }
      entities.set(name, hash);
      return [name];
    },
  };
};

const updateWithoutPredicate: CreateStep = random => {
  const hash = String(1 + random.below(1e6));
  return {
    build: ({ knex }) => knex('entities').update({ hash }).returning(COLUMNS),
    apply: entities => {
      const names = [...entities.keys()];
      names.forEach(name => entities.set(name, hash));
      return names;
    },
  };
};

const updateOther: CreateStep = (_, otherTenant) => ({
  build: ({ knex }) =>
    knex('entities')
      .where('tenant_id', otherTenant)
      .update({ hash: 'stolen' })
      .returning(COLUMNS),
  apply: () => [],
});

const remove: CreateStep = random => {
  const names = NAMES.filter(() => random.chance(0.3));
  return {
    build: scope =>
      scope
        .table('entities')
        .whereIn('entity_name', names)
        .delete()
        .returning(COLUMNS),
    apply: entities => names.filter(name => entities.delete(name)),
  };
};

const removeWithoutPredicate: CreateStep = () => ({
  build: ({ knex }) => knex('entities').delete().returning(COLUMNS),
  apply: entities => {
    const names = [...entities.keys()];
    entities.clear();
    return names;
  },
});

const insertOther: CreateStep = (random, otherTenant) => ({
  build: ({ knex }) =>
    knex('entities').insert({
      ...entityRow(random.pick(NAMES)),
      tenant_id: otherTenant,
    }),
  apply: () => ({ failure: /violates row-level security policy/ }),
});

const fails =
  (
    sql: string,
    failure: RegExp,
    kind: Pick<Step, 'last' | 'unsent'> = {},
  ): CreateStep =>
  (_, otherTenant) => ({
    build: ({ knex }) =>
      sql.includes('?') ? knex.raw(sql, [otherTenant]) : knex.raw(sql),
    apply: () => ({ failure }),
    ...kind,
  });

const STEPS: CreateStep[] = [
  ...[read, read, readWithoutPredicate, readWithoutPredicate, readOne],
  ...[readOther, insert, insert, insertMissing, insertMissing, upsert, upsert],
  ...[update, updateWithoutPredicate, updateOther, remove, insertOther],
  removeWithoutPredicate,
  fails('select 1 / 0', /22012/),
  fails(`select 'none'::uuid from entities`, /22P02|22012/),
  fails('commit', UNSENT, { unsent: true }),
  fails('select 1; commit', /42601/),
  fails('select from entities_tenant_default', /permission denied for table/),
  fails(
    `select set_config('app.tenant_id', ?, false)`,
    /has changed the tenant/,
    { last: true },
  ),
  fails('select * into temporary kept from entities', /has changed/, {
    last: true,
  }),
  fails(
    `select set_config('role', 'portal_admin', false), ?`,
    /has changed the tenant/,
    { last: true },
  ),
];

export function createStep(random: Random, otherTenant: string): Step {
  return random.pick(STEPS)(random, otherTenant);
}
