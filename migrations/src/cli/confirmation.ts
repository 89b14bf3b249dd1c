import { createInterface } from 'node:readline/promises';
import { RefusedError } from '../errors';
import type { CommandOptions } from './options/CommandOptions';
import type { Output, Streams } from './output';

/**
 * Shows the operator what a command is about to delete, and asks on the terminal
 * whether to go on.
 *
 * @param losses - a line for each; nothing is asked where there is none
 * @throws {@link RefusedError} unless the answer is yes, and where there is no
 *   terminal and no `--yes`
 */
export async function confirmLosses(
  losses: string[],
  options: Pick<CommandOptions, 'yes' | 'dryRun' | 'json'>,
  streams: Pick<Streams, 'stdin' | 'stderr'>,
  output: Pick<Output, 'warn'>,
): Promise<void> {
  if (losses.length === 0) {
    return;
  }
  const { stdin, stderr } = streams;
  output.warn(
    [
      options.dryRun
        ? 'This deletes, and keeps no copy:'
        : 'This will be deleted, and no copy is kept:',
      ...losses.map(loss => `- ${loss}`),
    ].join('\n'),
  );
  if (options.dryRun || options.yes) {
    return;
  }
  if (options.json || !stdin?.isTTY || !stderr.isTTY) {
    throw new RefusedError(
      'Rows would be deleted of which there is no copy, and there is no terminal to ' +
        'ask on. Nothing was changed. Give --yes, if they can go.',
    );
  }
  // Without `terminal`, Ctrl-C stays the signal that stops the command.
  const prompt = createInterface({
    input: stdin,
    output: stderr,
    terminal: false,
  });
  try {
    // The end of the input is an answer, too.
    const closed = new Promise<string>(resolve =>
      prompt.once('close', () => resolve('')),
    );
    const answer = await Promise.race([
      prompt.question('Delete them? Only "yes" goes on: '),
      closed,
    ]);
    if (answer.trim() !== 'yes') {
      throw new RefusedError('Nothing was changed: the answer was not "yes".');
    }
  } finally {
    prompt.close();
  }
}
