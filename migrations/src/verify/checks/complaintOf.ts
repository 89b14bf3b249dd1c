import { MigrationError } from '../../errors';

/** What a check that throws has to say; any other failure is thrown on. */
export async function complaintOf(
  check: () => Promise<void>,
): Promise<string[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof MigrationError) {
      return [error.message];
    }
    throw error;
  }
}
