import { slugOf } from './slugOf';

it.each([
  ['Start page', 'start-page'],
  ['  Größe  & Œuvre ', 'gro-e-uvre'],
  ['  Über uns! ', 'uber-uns'],
  ['--a--', 'a'],
  ['日本', ''],
  [`${'a'.repeat(62)} b`, 'a'.repeat(62)],
])('makes of %j %j', (name, slug) => {
  expect(slugOf(name, 63)).toBe(slug);
});
