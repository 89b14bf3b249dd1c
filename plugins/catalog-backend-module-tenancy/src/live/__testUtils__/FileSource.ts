import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { change, type Draft, draft } from './drafts';
import type { LiveCatalog } from './LiveCatalog';
import type { Random } from '@internal/postgres/testUtils';
import type { Source } from './sources';

interface CatalogFile {
  readonly path: string;
  drafts: Draft[];
  /** Of the API, while the file is registered. */
  location?: { id: string; entityRef: string };
}

/**
 * Files with entities, which are registered with the catalog and unregistered, and
 * whose entities come, change, move to another file and go.
 */
export class FileSource implements Source {
  readonly name = 'files';
  private readonly files: CatalogFile[];
  private count = 0;

  constructor(
    private readonly catalog: LiveCatalog,
    private readonly random: Random,
    folder: string,
    count: number,
  ) {
    this.files = Array.from({ length: count }, (_, index) => ({
      path: join(folder, `catalog-${index}.yaml`),
      drafts: [],
    }));
  }

  drafts(): Draft[] {
    return this.files
      .filter(({ location }) => location)
      .flatMap(file => file.drafts);
  }

  async act(): Promise<void> {
    const { random } = this;
    const file = random.pick(this.files);
    if (!file.location) {
      await this.edit(file);
      await this.register(file);
    } else if (random.chance(0.1)) {
      await this.unregister(file);
    } else if (random.chance(0.1)) {
      await this.lose(file);
    } else if (random.chance(0.3) && file.drafts.length > 0) {
      await this.move(file, random.pick(this.files));
    } else {
      await this.edit(file);
    }
  }

  private async edit(file: CatalogFile): Promise<void> {
    const { random } = this;
    file.drafts = file.drafts
      .filter(() => !random.chance(0.1))
      .map(each => (random.chance(0.3) ? change(random, each) : each));
    while (file.drafts.length < 2 + random.below(5)) {
      this.count += 1;
      file.drafts.push(draft(random, `file-${this.count}`));
    }
    await this.save(file);
  }

  /** The one of before must be gone: two files would claim it. */
  private async move(from: CatalogFile, to: CatalogFile): Promise<void> {
    const moved = this.random.pick(from.drafts);
    from.drafts = from.drafts.filter(each => each !== moved);
    await this.save(from);
    await this.catalog.gone(moved.ref);
    to.drafts = [...to.drafts, moved];
    await this.save(to);
  }

  /** The file is away for a while: the engine keeps what it has, with an error. */
  private async lose(file: CatalogFile): Promise<void> {
    await rm(file.path);
    await this.refresh(file);
    await this.catalog.withErrors(file.location!.entityRef);
    await this.edit(file);
  }

  private async register(file: CatalogFile): Promise<void> {
    const { id, entityRef } = await this.catalog.register(file.path);
    file.location = { id, entityRef };
  }

  private async unregister(file: CatalogFile): Promise<void> {
    await this.catalog.unregister(file.location!.id);
    const { drafts } = file;
    file.location = undefined;
    file.drafts = [];
    // Whatever comes back under one of the names is another entity.
    for (const { ref } of drafts) {
      await this.catalog.gone(ref);
    }
  }

  private async save(file: CatalogFile): Promise<void> {
    await writeFile(
      file.path,
      // JSON is YAML.
      file.drafts.map(({ entity }) => JSON.stringify(entity)).join('\n---\n'),
    );
    await this.refresh(file);
  }

  private async refresh({ location }: CatalogFile): Promise<void> {
    if (location) {
      await this.catalog.refresh(location.entityRef);
    }
  }
}
