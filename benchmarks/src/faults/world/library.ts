// What the tests start PgBouncer with, which nothing exports.
/* eslint-disable @backstage/no-relative-monorepo-imports */
export {
  findPgBouncer,
  PgBouncer,
} from '../../../../plugins/catalog-tenancy-node/src/database/__testUtils__/PgBouncer';
