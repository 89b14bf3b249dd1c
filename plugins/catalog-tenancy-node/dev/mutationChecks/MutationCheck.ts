import { createHash } from 'crypto';

/** A change to a file. */
export interface Edit {
  /** From the root of the repository. */
  file: string;
  /** The text to replace. It must stand there exactly once. */
  find: string;
  replace: string;
}

/** Something that keeps tenants apart, and how to take it away. */
export interface MutationCheck {
  /** What is removed, in a few words. */
  name: string;
  edits: Edit[];
  /** The test files or folders of which at least one test must fail then. */
  tests: string[];
}

/**
 * Some of the checks, always the same for the same seed. Over many seeds each is among
 * them as often as any other.
 */
export function sampleOf(
  checks: MutationCheck[],
  size: number,
  seed: string,
): MutationCheck[] {
  const rank = ({ name }: MutationCheck) =>
    createHash('sha256').update(`${seed}: ${name}`).digest('hex');
  return [...checks]
    .sort((a, b) => (rank(a) < rank(b) ? -1 : 1))
    .slice(0, size);
}
