import { ADMIN_ROLE } from '../tables';

/** The user as which the backend works on the tables of tenants. */
export interface DatabaseUser {
  name: string;
  /** `server_version_num` */
  version: number;
  /** It may act as `portal_admin`. */
  mayActAsAdmin: boolean;
}

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
export function warningsOf(user: DatabaseUser): string[] {
  const { name, version, mayActAsAdmin } = user;
  return [
    ...warningsOfVersion(version),
    ...(mayActAsAdmin
      ? []
      : [
          `${ADMIN_ROLE} is not granted to the database user '${name}': ` +
            'tenants can neither be created, changed, deleted nor restored ' +
            'through /api/tenants, and deleted entities are not purged. To ' +
            'have these, run ' +
            `"grant ${ADMIN_ROLE} to ${name}" (from PostgreSQL 16 on, ` +
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
