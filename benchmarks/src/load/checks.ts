import { type Entity, stringifyEntityRef } from '@backstage/catalog-model';
import { MARK, MARKS, REVISION } from './entities';
import type { LoadTenant, Revisions } from './LoadTenant';

/**
 * Makes sure that a text tells of no tenant but one, wherever in it.
 *
 * @throws Error that names the other tenant
 */
export function assertTellsOnlyOf({ slug }: LoadTenant, text: string): void {
  for (const [, other] of text.matchAll(MARKS)) {
    if (other !== slug) {
      throw new Error(`${slug} was told of ${other}`);
    }
  }
}

/**
 * The same of a text that comes in pieces, so that others have their turn in between.
 *
 * @throws Error that names the other tenant
 */
export async function assertPiecesTellOnlyOf(
  tenant: LoadTenant,
  pieces: AsyncIterable<string>,
): Promise<void> {
  let rest = '';
  for await (const piece of pieces) {
    const text = rest + piece;
    // No mark has one in it: up to there, all are complete.
    const end = text.lastIndexOf('"') + 1;
    assertTellsOnlyOf(tenant, text.slice(0, end));
    rest = text.slice(end);
  }
  assertTellsOnlyOf(tenant, rest);
}

/**
 * Makes sure that entities are those of a tenant, and as many as there must be.
 *
 * @throws Error that says what is wrong
 */
export function assertEntitiesOf(
  { slug, mark }: LoadTenant,
  entities: Entity[],
  expected: number,
): void {
  for (const { metadata } of entities) {
    const found = metadata.annotations?.[MARK];
    if (found !== mark) {
      throw new Error(`${slug} got "${metadata.name}" with the mark ${found}`);
    }
  }
  assertEqual(`entities of ${slug}`, entities.length, expected);
}

/**
 * Makes sure that entities were written by one mutation, neither by one that was
 * overtaken before the request, nor by one that nobody has sent.
 *
 * @throws Error that says what is wrong
 */
export function assertOneRevision(
  { slug }: LoadTenant,
  entities: Entity[],
  { oldest, newest }: Revisions,
): void {
  const found = new Set(
    entities.map(({ metadata }) => Number(metadata.annotations?.[REVISION])),
  );
  const [revision] = found;
  if (found.size !== 1 || !(revision >= oldest && revision <= newest())) {
    throw new Error(
      `${slug} has the changes ${[...found].join(', ')}, where one of ` +
        `${oldest} to ${newest()} is right`,
    );
  }
}

/** @throws Error unless these are the entities with these refs, in their order */
export function assertRefs(entities: Entity[], refs: string[]): void {
  assertEqual(
    'refs',
    entities.map(entity => stringifyEntityRef(entity)).join(' '),
    refs.join(' '),
  );
}

/** @throws Error unless both are the same */
export function assertEqual<T extends string | number>(
  what: string,
  found: T,
  expected: T,
): void {
  if (found !== expected) {
    throw new Error(`${what}: ${found}, where ${expected} is right`);
  }
}
