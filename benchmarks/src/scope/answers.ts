import type { Entity } from '@backstage/catalog-model';
import { isDeepStrictEqual } from 'node:util';
import { createQuestions, type Operation, type Question } from './questions';
import type { ListedRow, Side } from './Side';
import type { Size } from './sizes';

const CHECKED = 20;

/** Reads as a question says, and looks at what comes. */
export async function askOne(
  side: Side,
  operation: Operation,
  question: Question,
  { limit }: Size,
): Promise<unknown> {
  if (operation === 'getEntity') {
    const entity = await side.getEntity(question);
    if ((entity as Entity | undefined)?.metadata.name !== question.name) {
      throw new Error(`${side.name} has not found ${question.entityRef}`);
    }
    return entity;
  }
  const rows = await side.listEntities(question, limit);
  const ofTenant = (row: ListedRow) => row.entity_name.endsWith(question.mark);
  if (rows.length !== limit || (side.knowsTenants && !rows.every(ofTenant))) {
    throw new Error(`${side.name} has not listed ${limit} of ${question.mark}`);
  }
  return rows;
}

/**
 * Makes sure that all sides do the same work.
 *
 * The list of a catalog without tenants has entities of all of them: it is compared
 * only where there is a single one.
 *
 * @throws Error that names the side that answers otherwise
 */
export async function assertSameAnswers(
  sides: Side[],
  {
    operation,
    size,
    tenants,
  }: {
    operation: Operation;
    size: Size;
    tenants: number;
  },
): Promise<void> {
  const comparable = sides.filter(
    ({ knowsTenants }) =>
      knowsTenants || operation === 'getEntity' || tenants === 1,
  );
  for (const question of createQuestions(tenants, size).slice(0, CHECKED)) {
    const answers = await Promise.all(
      comparable.map(side => askOne(side, operation, question, size)),
    );
    const other = answers.findIndex(
      answer => !isDeepStrictEqual(answer, answers[0]),
    );
    if (other >= 0) {
      throw new Error(
        `"${comparable[other].name}" and "${comparable[0].name}" answer ${operation} ` +
          `of ${question.entityRef} differently`,
      );
    }
  }
}
