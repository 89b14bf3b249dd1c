import { nearestId } from './nearestId';

describe('nearestId', () => {
  it.each([
    [
      '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11',
      '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11',
    ],
    [
      '7BD6B4A3-0B0C-4F0F-8A67-0D9B3C6C9F11',
      '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11',
    ],
    [
      '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11 and more',
      '7bd6b4a3-0b0c-4f0f-8a67-0d9b3c6c9f11',
    ],
    ['', '00000000-0000-0000-0000-000000000000'],
    ['7b', '7b000000-0000-0000-0000-000000000000'],
    ['7bz', '7bffffff-ffff-ffff-ffff-ffffffffffff'],
    ['7b d', '7b000000-0000-0000-0000-000000000000'],
    ['7bd6b4a30b0c', '7bd6b4a3-ffff-ffff-ffff-ffffffffffff'],
    ["' or true --", '00000000-0000-0000-0000-000000000000'],
    ['zzz', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
    ['😀', 'ffffffff-ffff-ffff-ffff-ffffffffffff'],
  ])('takes %j for %j', (text, id) => {
    expect(nearestId(text)).toBe(id);
  });
});
