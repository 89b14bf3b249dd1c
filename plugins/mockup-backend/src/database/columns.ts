import type {
  LayoutItem,
  Mockup,
  TrashedMockup,
  Version,
} from 'backstage-plugin-mockup-common';

/**
 * Formats a timestamp in PostgreSQL, because the driver reads a TIMESTAMP as local time and
 * drops its microseconds.
 */
export function iso(column: string): string {
  return `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
}

/** Formats a timestamp with microseconds, so that PostgreSQL reads the same value back. */
export function preciseTime(expression: string): string {
  return `to_char(${expression}, 'YYYY-MM-DD"T"HH24:MI:SS.US')`;
}

/**
 * The revision of a mockup: the microsecond of its last change, which never repeats.
 */
export function revisionOf(column: string): string {
  return `(extract(epoch from ${column}) * 1000000)::bigint::text`;
}

/** Selects a {@link MockupRow} from `mockups`. */
export const MOCKUP_COLUMNS = `
  mockups.id, mockups.name, mockups.description, mockups.owner,
  ${iso('mockups.created_at')} as created_at,
  ${iso('mockups.updated_at')} as updated_at,
  mockups.readers, mockups.writers,
  ${revisionOf('mockups.updated_at')} as revision`;

/** Selects a {@link TrashRow} from `mockup_trash`, under the name `mockups`. */
export const TRASH_COLUMNS = `
  ${MOCKUP_COLUMNS},
  ${iso('mockups.deleted_at')} as deleted_at, mockups.deleted_by`;

/** Selects a {@link VersionRow} from `mockup_versions`, without the layout. */
export const VERSION_HEAD_COLUMNS = `
  mockup_versions.id as version_id, mockup_versions.mockup_id,
  mockup_versions.version_tag, mockup_versions.message,
  mockup_versions.created_by,
  mockup_versions.restored_from,
  ${iso('mockup_versions.created_at')} as version_created_at`;

/** Selects a {@link VersionRow} from `mockup_versions`. */
export const VERSION_COLUMNS = `
  ${VERSION_HEAD_COLUMNS}, mockup_versions.layout_data`;

export interface MockupRow {
  id: string;
  name: string;
  description: string | null;
  owner: string;
  created_at: string;
  updated_at: string;
  readers: string[];
  writers: string[];
  revision: string;
}

export interface VersionRow {
  version_id: string;
  mockup_id: string;
  version_tag: string | null;
  message: string | null;
  layout_data: LayoutItem[];
  created_by: string;
  version_created_at: string;
  restored_from: string | null;
}

export interface TrashRow extends MockupRow {
  deleted_at: string;
  deleted_by: string | null;
}

export function toMockup(row: MockupRow): Mockup {
  const shares = [
    ...row.readers.map(group => ({ group, access: 'read' as const })),
    ...row.writers.map(group => ({ group, access: 'write' as const })),
  ].sort((a, b) => (a.group < b.group ? -1 : 1));
  return {
    id: row.id,
    name: row.name,
    ...(row.description !== null && { description: row.description }),
    owner: row.owner,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    ...(shares.length > 0 && { shares }),
  };
}

export function toVersion(row: VersionRow): Version {
  return {
    id: row.version_id,
    mockupId: row.mockup_id,
    ...(row.version_tag !== null && { versionTag: row.version_tag }),
    ...(row.message !== null && { message: row.message }),
    layoutData: row.layout_data,
    createdBy: row.created_by,
    createdAt: row.version_created_at,
    ...(row.restored_from !== null && { restoredFrom: row.restored_from }),
  };
}

/** @param retentionMs - how long the trash keeps a mockup; for ever if undefined */
export function toTrashedMockup(
  row: TrashRow,
  retentionMs: number | undefined,
): TrashedMockup {
  return {
    ...toMockup(row),
    deletedAt: row.deleted_at,
    ...(row.deleted_by !== null && { deletedBy: row.deleted_by }),
    ...(retentionMs !== undefined && {
      purgedAfter: new Date(
        Date.parse(row.deleted_at) + retentionMs,
      ).toISOString(),
    }),
  };
}
