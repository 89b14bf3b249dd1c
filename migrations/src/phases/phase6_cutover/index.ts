import type { Phase } from '../../engine/Step';
import { smokeTests } from './10_smoke_tests';
import { addressOf } from './address';

export const phase6: Phase = {
  number: 6,
  title: 'Cutover',
  repeats: true,
  async check({ settings }) {
    addressOf(settings);
  },
  steps: [smokeTests],
};
