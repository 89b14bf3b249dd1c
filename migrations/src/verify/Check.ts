import type { PhaseNumber, StepContext } from '../engine/Step';

/** Something that must hold from a phase on. */
export interface Check {
  name: string;
  /** The phase after which it holds. */
  from: PhaseNumber | 0;
  /** What is wrong, a sentence for each; nothing if it holds. */
  examine(context: StepContext): Promise<string[]>;
}
