import { statusOf } from './Failure';

/**
 * Waits for a request; nothing where the backend has no such thing. A removal is done then: the
 * answer to an earlier attempt may be lost, or another tab was faster.
 */
export async function ifThere<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (statusOf(error) !== 404) {
      throw error;
    }
    return undefined;
  }
}
