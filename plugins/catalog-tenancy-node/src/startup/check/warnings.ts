import { ADMIN_ROLE } from '../tables';
import type { DatabaseFacts } from './facts';
import { quote } from './findings';

interface Leak {
  name: string;
  /** The minor version that ended it, by major version. */
  fixedIn: Record<number, number>;
}

// What let rows through row-level security. Later majors never had them.
const LEAKS: Leak[] = [
  {
    name: 'CVE-2024-10976',
    fixedIn: { 12: 21, 13: 17, 14: 14, 15: 9, 16: 5, 17: 1 },
  },
  {
    name: 'CVE-2025-8713',
    fixedIn: { 13: 22, 14: 19, 15: 14, 16: 10, 17: 6 },
  },
];

/** What an operator should know, and may live with. */
export function warningsOf(facts: DatabaseFacts): string[] {
  const { version, schema, openSchema, user } = facts;
  return [
    ...warningsOfVersion(version),
    ...(openSchema
      ? [
          `Every user of the database may create functions in schema "${schema}", ` +
            'which statements about tenants would call in place of those of ' +
            'PostgreSQL, with all rights of the application. Run ' +
            `"revoke create on schema ${quote(schema)} from public".`,
        ]
      : []),
    ...(user.mayActAsAdmin
      ? []
      : [
          `${ADMIN_ROLE} is not granted to the database user '${user.name}': ` +
            'tenants can neither be created, changed, deleted nor restored ' +
            'through /api/tenants, and deleted entities are not purged. To ' +
            'have these, run ' +
            `"grant ${ADMIN_ROLE} to ${user.name}" (from PostgreSQL 16 on, ` +
            'followed by "with inherit false").',
        ]),
  ];
}

/** @param version - `server_version_num` */
export function warningsOfVersion(version: number): string[] {
  const major = Math.floor(version / 10_000);
  const minor = version % 10_000;
  const open = LEAKS.filter(({ fixedIn }) => minor < (fixedIn[major] ?? 0));
  if (open.length === 0) {
    return [];
  }
  const fixed = Math.max(...open.map(({ fixedIn }) => fixedIn[major]));
  return [
    `PostgreSQL ${major}.${minor} may show rows past row-level security ` +
      `(${open
        .map(({ name }) => name)
        .join(', ')}): update it to ${major}.${fixed} ` +
      'or later.',
  ];
}
