import { resolve } from 'path';
import { parseArgs } from 'util';
import { StartError } from './StartError';

/**
 * Checks the arguments of `npm start -- …`, and makes them fit for the backend,
 * which runs in another folder.
 */
export function backendArguments(args: string[]): string[] {
  try {
    const { values } = parseArgs({
      args,
      options: { config: { type: 'string', multiple: true } },
    });
    return (values.config ?? []).flatMap(file => ['--config', resolve(file)]);
  } catch (error) {
    throw new StartError(
      `${(error as Error).message}. Usage: npm start -- [--config <file>]...`,
    );
  }
}
