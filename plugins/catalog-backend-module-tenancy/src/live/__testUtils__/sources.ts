import type { Draft } from './drafts';

/** Something that entities come from. */
export interface Source {
  readonly name: string;
  /** Does one thing, and resolves once the engine has been told of it. */
  act(): Promise<void>;
  /** What it has now: what the catalog has to show once the engine has caught up. */
  drafts(): Draft[];
}
