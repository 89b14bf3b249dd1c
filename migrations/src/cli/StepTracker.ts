import type { PhaseNumber } from '../engine/Step';
import type { TenancyMigration } from '../engine/TenancyMigration';

/** What a command has done, `null` where the database could not be asked any more. */
export interface StepReport {
  phase: PhaseNumber | 0 | null;
  done: string[] | null;
  undone?: string[];
}

/** Compares the steps that are done with those of the beginning. */
export class StepTracker {
  static async begin(
    migration: Pick<TenancyMigration, 'completedSteps' | 'completedPhase'>,
  ): Promise<StepTracker> {
    return new StepTracker(migration, await migration.completedSteps());
  }

  private constructor(
    private readonly migration: Pick<
      TenancyMigration,
      'completedSteps' | 'completedPhase'
    >,
    private readonly before: string[],
  ) {}

  async done(): Promise<string[]> {
    const after = await this.migration.completedSteps();
    return after.filter(step => !this.before.includes(step));
  }

  /** Those that were undone, the last first. */
  async undone(): Promise<string[]> {
    const after = await this.migration.completedSteps();
    return this.before.filter(step => !after.includes(step)).reverse();
  }

  async report(): Promise<StepReport> {
    try {
      const undone = await this.undone();
      return {
        phase: await this.migration.completedPhase(),
        done: await this.done(),
        ...(undone.length > 0 ? { undone } : {}),
      };
    } catch {
      return { phase: null, done: null };
    }
  }
}
