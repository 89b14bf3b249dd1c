import { failure, ok, warning } from '../Finding';
import type { Outcome } from '../Finding';
import type { PreflightCheck } from '../PreflightCheck';

/** The oldest PostgreSQL on which the migration works (specification, B). */
const MINIMUM = 14;

/** Faults that let rows through row-level security: the minor that mends each. */
const LEAKS: { name: string; mended: Record<number, number> }[] = [
  { name: 'CVE-2025-8713', mended: { 14: 19, 15: 14, 16: 10, 17: 6 } },
  { name: 'CVE-2024-10976', mended: { 14: 14, 15: 9, 16: 5, 17: 1 } },
];

/** PostgreSQL 14 or later, and a minor that row-level security can be trusted on. */
export const serverVersion: PreflightCheck = {
  name: 'server version',
  scope: 'server',
  async run({ facts }) {
    return [judgeVersion(facts.version, facts.versionText)];
  },
};

/**
 * What is to be said of a version.
 *
 * @param version - as `server_version_num` has it: 140005
 * @param text - as it is called: 14.5
 */
export function judgeVersion(version: number, text: string): Outcome {
  const major = Math.floor(version / 10000);
  const minor = version % 10000;
  if (major < MINIMUM) {
    return failure(
      `The server is PostgreSQL ${text}; ${MINIMUM} or later is needed.`,
      { advice: 'Upgrade the server first.' },
    );
  }
  const leaks = LEAKS.filter(({ mended }) => minor < (mended[major] ?? 0));
  if (leaks.length > 0) {
    const names = leaks.map(({ name }) => name).join(' and ');
    const needed = Math.max(...leaks.map(({ mended }) => mended[major]));
    return warning(
      `PostgreSQL ${text} can show rows past row-level security (${names}).`,
      { advice: `Update the server to ${major}.${needed} or later.` },
    );
  }
  return ok(`PostgreSQL ${text}.`);
}
