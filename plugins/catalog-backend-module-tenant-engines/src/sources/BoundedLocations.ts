import {
  ANNOTATION_LOCATION,
  type Entity,
  parseLocationRef,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';
import type { ScmIntegrationRegistry } from '@backstage/integration';
import { UrlReaderProcessor } from '@backstage/plugin-catalog-backend';
import type {
  CatalogProcessor,
  CatalogProcessorCache,
  CatalogProcessorEmit,
  CatalogProcessorParser,
  LocationSpec,
} from '@backstage/plugin-catalog-node';
import { createHash } from 'node:crypto';
import {
  LOCATION_FACTOR,
  type SourceBounds,
  tooManyTargets,
  tooMuchInAll,
} from './bounds';
import type { Brought } from './refuseGrowth';

/** What remains of the limits for one run of a location. */
interface Budget {
  entities: number;
  bytes: number;
  /** With all targets so far. */
  brought: Brought;
}

/**
 * Locations that fail before all of their targets are read leave notes behind. Beyond this
 * number the oldest are dropped. A target without a note is refused, and read again later.
 */
const MOST_NOTES = 100_000;

/**
 * Reads the URLs of a location as Backstage does, and counts what all of its targets and their
 * files bring together: a thousand targets of a thousand entities would fill the memory.
 *
 * A target that is read does not say which location it is of. So each location notes its targets
 * before they are read; where two have the same, each read takes one of the notes.
 */
export class BoundedLocations implements CatalogProcessor {
  readonly #budgets = new Map<string, Budget[]>();
  #noted = 0;

  constructor(
    private readonly options: {
      bounds: SourceBounds;
      integrations: ScmIntegrationRegistry;
      reader: UrlReaderProcessor;
      refuseGrowth: (brought: Brought) => Promise<void>;
    },
  ) {}

  getProcessorName() {
    return 'TenantLocations';
  }

  /** Right before Backstage's own reader of URLs, whose priority is 20. */
  getPriority() {
    return 19;
  }

  /** Notes the targets, as they are after placeholders were replaced. */
  async validateEntityKind(entity: Entity): Promise<boolean> {
    const { bounds } = this.options;
    if (entity.kind !== 'Location') {
      return false;
    }
    const { target, targets } = entity.spec ?? {};
    const all = [target, targets]
      .flat()
      .filter(each => typeof each === 'string');
    if (all.length > bounds.maxEntities) {
      throw tooManyTargets(bounds);
    }
    const budget = {
      entities: bounds.maxEntities * LOCATION_FACTOR,
      bytes: bounds.maxBytes * LOCATION_FACTOR,
      brought: { entityRef: stringifyEntityRef(entity), entities: 0 },
    };
    for (const each of all) {
      this.#note(this.#urlOf(each, entity), budget);
    }
    return false;
  }

  async readLocation(
    location: LocationSpec,
    optional: boolean,
    emit: CatalogProcessorEmit,
    parser: CatalogProcessorParser,
    cache: CatalogProcessorCache,
  ): Promise<boolean> {
    if (location.type !== 'url') {
      return false;
    }
    const { bounds, reader, refuseGrowth } = this.options;
    const budget = this.#take(location.target);
    const parseWithin: CatalogProcessorParser = async function* parse(source) {
      budget.bytes -= source.data.length;
      if (budget.bytes < 0) {
        throw tooMuchInAll('maxBytes', bounds);
      }
      yield* parser(source);
    };
    const isRead = await reader.readLocation(
      location,
      optional,
      result => {
        if (result.type === 'entity') {
          budget.brought.entities += 1;
          budget.entities -= 1;
          if (budget.entities < 0) {
            throw tooMuchInAll('maxEntities', bounds);
          }
        }
        emit(result);
      },
      parseWithin,
      cache,
    );
    await refuseGrowth(budget.brought);
    return isRead;
  }

  #urlOf(target: string, { metadata }: Entity): string {
    try {
      const base = parseLocationRef(metadata.annotations![ANNOTATION_LOCATION]);
      return base.type === 'url'
        ? this.options.integrations.resolveUrl({
            url: target,
            base: base.target,
          })
        : target;
    } catch {
      return target;
    }
  }

  #note(url: string, budget: Budget): void {
    const key = keyOf(url);
    this.#budgets.set(key, [...(this.#budgets.get(key) ?? []), budget]);
    this.#noted += 1;
    while (this.#noted > MOST_NOTES) {
      this.#remove(this.#budgets.keys().next().value!);
    }
  }

  #take(url: string): Budget {
    const budget = this.#remove(keyOf(url));
    if (!budget) {
      throw new InputError(
        `${url} was read for no location: try again with a refresh of it`,
      );
    }
    return budget;
  }

  /** Removes the first note with this key. */
  #remove(key: string): Budget | undefined {
    const [budget, ...others] = this.#budgets.get(key) ?? [];
    if (budget) {
      this.#noted -= 1;
      if (others.length === 0) {
        this.#budgets.delete(key);
      } else {
        this.#budgets.set(key, others);
      }
    }
    return budget;
  }
}

/** The notes of long targets that are never read would fill the memory. */
function keyOf(url: string): string {
  return createHash('sha256').update(url).digest('base64');
}
