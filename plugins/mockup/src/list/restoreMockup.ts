import { statusOf } from '@internal/pages';
import type { MockupApi } from 'backstage-plugin-mockup-common';

/** Takes a mockup out of the trash, where it is not back already: an answer may have been lost. */
export async function restoreMockup(
  api: Pick<MockupApi, 'getMockup' | 'restoreMockup'>,
  id: string,
): Promise<void> {
  try {
    await api.restoreMockup(id);
  } catch (error) {
    if (statusOf(error) !== 404 || !(await api.getMockup(id))) {
      throw error;
    }
  }
}
