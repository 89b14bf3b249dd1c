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
