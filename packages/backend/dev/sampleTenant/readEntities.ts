import { readFile } from 'fs/promises';
import type { Entity } from '@backstage/catalog-model';
import { parseEntityYaml } from '@backstage/plugin-catalog-node';

/** The entities of a YAML file, as one writes them. */
export async function readEntities(path: string): Promise<Entity[]> {
  const results = parseEntityYaml(await readFile(path), {
    type: 'file',
    target: path,
  });
  return [...results].map(result => {
    if (result.type !== 'entity') {
      throw new Error(
        result.type === 'error'
          ? result.error.message
          : `${path} is not usable`,
      );
    }
    return result.entity;
  });
}
