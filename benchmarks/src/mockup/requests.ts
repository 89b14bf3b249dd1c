import type { LoadRequest } from '../harness/load';
import { LAYOUTS } from './layouts';

// Written out beforehand, so that the load generator has next to nothing to do.
const BODIES = LAYOUTS.map((layoutData, number) =>
  JSON.stringify({ layoutData, versionTag: `tag ${number}` }),
);

/** Reads a mockup with its latest version. */
export function readMockup(id: string): LoadRequest {
  return { method: 'GET', path: `/mockups/${id}` };
}

/** Saves a version with 50 items. */
export function saveVersion(id: string): LoadRequest {
  return {
    method: 'POST',
    path: `/mockups/${id}/versions`,
    headers: { 'content-type': 'application/json' },
    body: pick(BODIES),
  };
}

/** Any of the values, each as often as the others. */
export function pick<T>(values: T[]): T {
  return values[Math.floor(Math.random() * values.length)];
}
