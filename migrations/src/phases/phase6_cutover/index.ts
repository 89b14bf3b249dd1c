import type { Phase } from '../../engine/Step';
import { smokeTests } from './10_smoke_tests';
import { requireBaseUrl } from './Application';

export const phase6: Phase = {
  number: 6,
  title: 'Cutover',
  repeats: true,
  async check({ settings }) {
    requireBaseUrl(settings);
  },
  steps: [smokeTests],
};
