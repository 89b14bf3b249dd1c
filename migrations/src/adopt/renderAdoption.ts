import { formatThings } from '../text';
import type { AdoptionStatus } from './status';
import { operatorCommand } from '../operatorCommand';

/** How an adoption stands, as text. */
export function renderAdoption(status: AdoptionStatus): string {
  const { adopted, begun, catalogSchema, engineEntities } = status;
  const entities = formatThings(engineEntities, 'entity', 'entities');
  const where = catalogSchema ? ` in the schema "${catalogSchema}"` : '';
  if (!begun) {
    return (
      `There is a stock catalog${where} with ${entities}, which is not adopted ` +
      `(${operatorCommand('adopt')}).`
    );
  }
  return [
    adopted
      ? `The stock catalog${where} is adopted: its ${entities} are the default tenant's.`
      : `The adoption of the stock catalog${where} is not complete (${operatorCommand(
          'adopt',
        )}).`,
    ...status.tablesWithoutTriggers.map(
      table =>
        `Changes of ${table} are not carried: its triggers are gone or disabled (${operatorCommand(
          'adopt',
        )}).`,
    ),
    ...renderFaults(status),
  ].join('\n');
}

/** What could not be carried, a line for each. */
export function renderFaults({
  faults,
  latestFaults,
}: AdoptionStatus): string[] {
  if (faults === 0) {
    return [];
  }
  const more = faults - latestFaults.length;
  return [
    `Kept aside, because it could not be carried: ${formatThings(
      faults,
      'row',
    )}.`,
    ...latestFaults.map(
      ({ source, key, reason, attempts }) =>
        `  ${source} ${key}: ${reason} (${formatThings(attempts, 'attempt')})`,
    ),
    ...(more > 0 ? [`  and ${formatThings(more, 'other')}`] : []),
  ];
}
