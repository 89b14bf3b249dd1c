import { renderAdoption } from '../adopt/renderAdoption';
import { describeOperator } from '../session/operatorLock';
import Table from 'cli-table3';
import { formatBytes, formatCount, formatThings, formatTime } from '../text';
import type { StatusReport, SwapStatus } from './StatusReport';

/** A status as text, for a terminal or a log. */
export function renderStatus(status: StatusReport): string {
  return [
    renderHeadline(status),
    renderSteps(status),
    renderTables(status),
    renderSwap(status.swap),
    ...(status.adoption ? [renderAdoption(status.adoption)] : []),
    renderRest(status),
  ]
    .filter(Boolean)
    .join('\n\n');
}

function renderHeadline(status: StatusReport): string {
  const { schema, phase, phaseBegun, operator, next } = status;
  return [
    phase === 0
      ? `Schema "${schema}": no phase is complete.`
      : `Schema "${schema}": phase ${phase} is complete.`,
    ...(phaseBegun ? [`Phase ${phaseBegun} has begun.`] : []),
    operator ? `At work: ${describeOperator(operator)}.` : 'Nobody is at work.',
    `Next: ${next.what}${next.command ? ` (${next.command})` : ''}`,
  ].join('\n');
}

function renderSteps({ steps }: StatusReport): string {
  return table(
    ['Step', 'What it does', 'Done'],
    steps.map(({ name, title, doneAt }) => [
      name,
      title,
      doneAt ? formatTime(doneAt) : '',
    ]),
  );
}

function renderTables({ tables }: StatusReport): string {
  if (tables.length === 0) {
    return 'None of the tables exists.';
  }
  return table(
    ['Table', 'Rows (about)', 'Size', 'Partitions'],
    tables.map(({ name, rows, bytes, partitions }) => [
      name,
      formatCount(rows),
      formatBytes(bytes),
      partitions > 0 ? formatCount(partitions) : '',
    ]),
  );
}

function renderSwap(swap: SwapStatus): string {
  const { swapped, swappedAt, oldTables, cleanupFrom } = swap;
  const when = swappedAt ? ` since ${formatTime(swappedAt)}` : '';
  return [
    swapped
      ? `The partitioned tables are in use${when}.`
      : 'The tables are not swapped.',
    ...(oldTables.length > 0
      ? [
          `The old tables are still there: ${oldTables.join(', ')}.`,
          cleanupFrom
            ? `Cleanup may drop them from ${formatTime(cleanupFrom)} on.`
            : 'Cleanup may drop them 24 hours after the swap.',
        ]
      : []),
  ].join('\n');
}

function renderRest({ work, changeLog, leftovers }: StatusReport): string {
  return [
    // What has reached its end says so among the steps.
    ...work
      .filter(({ pagesDone, pages }) => pagesDone < pages)
      .map(
        ({ name, pagesDone, pages }) =>
          `Progress of ${name}: ${formatCount(pagesDone)} of ` +
          `${formatThings(pages, 'page')} (${percent(pagesDone, pages)}).`,
      ),
    ...(changeLog
      ? [
          `Entries of the change log: about ${formatCount(changeLog.rows)} ` +
            `(${formatBytes(changeLog.bytes)}).`,
        ]
      : []),
    ...leftovers.map(
      ({ kind, name, table: on }) =>
        `Left over: ${kind} ${name}${name === on ? '' : ` of ${on}`}.`,
    ),
  ].join('\n');
}

function percent(part: number, whole: number): string {
  return `${Math.floor(whole > 0 ? (100 * part) / whole : 100)} %`;
}

function table(head: string[], rows: string[][]): string {
  const rendered = new Table({
    head,
    // No colours: the output may go to a file.
    style: { head: [], border: [] },
    // No line between rows.
    chars: { mid: '', 'left-mid': '', 'mid-mid': '', 'right-mid': '' },
  });
  rendered.push(...rows);
  return rendered.toString();
}
