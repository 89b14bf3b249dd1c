import type { Phase, PhaseNumber } from '../../engine/Step';
import { cutoverChecklist } from '../../phases/phase6_cutover';
import type { Invocation } from '../CommandDefinition';
import { formatThings } from '../../text';
import { guidance } from './guidance';
import { operatorCommand } from '../../operatorCommand';

/** Runs one phase and tells the operator what it was and what comes next. */
export async function runPhase(
  invocation: Invocation,
  number: PhaseNumber,
): Promise<string> {
  const { migration, options, steps } = invocation;
  const before = await migration.completedPhase();
  const begun = await migration.runPhase(number, phase =>
    announce(invocation, phase),
  );
  if (options.dryRun) {
    return begun
      ? `Phase ${number} was printed. Nothing was changed.`
      : `Phase ${number} is complete already: there is nothing to print.`;
  }
  const done = await steps.done();
  return [
    summary({ number, begun, repeated: before >= number, done }),
    ...done.map(step => `  ${step}`),
    await nextOf(invocation),
    ...(number === 6 ? ['', cutoverChecklist(invocation.settings)] : []),
  ].join('\n');
}

function summary(run: {
  number: PhaseNumber;
  begun: boolean;
  repeated: boolean;
  done: string[];
}): string {
  const { number, begun, repeated, done } = run;
  if (!begun) {
    return `Phase ${number} was complete already.`;
  }
  return repeated
    ? `Phase ${number} was complete already, and has succeeded again.`
    : `Phase ${number} is complete: ${formatThings(done.length, 'step')} done.`;
}

function announce({ reporter }: Invocation, phase: Phase): void {
  reporter.info(
    [
      `Phase ${phase.number}: ${phase.title} (${
        guidance[phase.number].expectation
      })`,
      ...phase.steps.map(({ name, title }) => `  ${name}: ${title}`),
    ].join('\n'),
  );
}

/** What comes after the last phase that is complete. */
export async function nextOf({ migration }: Invocation): Promise<string> {
  const phase = await migration.completedPhase();
  return phase === 0
    ? `Next: ${operatorCommand('phase1')}.`
    : guidance[phase].next;
}
