import { statusOf } from './Failure';

/**
 * Waits for what is removed. Where there is no such thing any more, it is done: the answer to an
 * earlier attempt may be lost, or another tab was faster.
 */
export async function ifThere(removal: Promise<unknown>): Promise<void> {
  try {
    await removal;
  } catch (error) {
    if (statusOf(error) !== 404) {
      throw error;
    }
  }
}
