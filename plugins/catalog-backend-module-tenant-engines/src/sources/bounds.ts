import type { Entity } from '@backstage/catalog-model';
import { InputError } from '@backstage/errors';

/** How much an engine takes of one source, and for how long: `tenancy.engines.sources`. */
export interface SourceBounds {
  /** The size of a file, as its server sends it. */
  readonly maxBytes: number;
  /** The size of the archive that is searched for the files of a pattern. */
  readonly maxArchiveBytes: number;
  /** Documents of a file, files of a pattern, targets of a location, entities of a dry run. */
  readonly maxEntities: number;
  /** Scalars, lists and maps of a document, with those that an alias repeats. */
  readonly maxValues: number;
  /** Lists and maps inside each other. */
  readonly maxDepth: number;
  /** The size of an entity as JSON, with the files that it includes. */
  readonly maxEntityBytes: number;
  /** For one read, from the first request to the last byte, and for the parsing of a file. */
  readonly timeoutMs: number;
}

export const DEFAULT_BOUNDS: SourceBounds = {
  maxBytes: 5 * 1024 * 1024,
  maxArchiveBytes: 100 * 1024 * 1024,
  maxEntities: 1_000,
  maxValues: 10_000,
  maxDepth: 100,
  maxEntityBytes: 5 * 1024 * 1024,
  timeoutMs: 30_000,
};

/** The bounds of a source as a whole. */
type WholeBound = Exclude<keyof SourceBounds, 'maxEntityBytes'>;

const TEXTS: Record<WholeBound, (bound: string) => string> = {
  maxBytes: bound => `is larger than ${bound} bytes`,
  maxArchiveBytes: bound => `takes more than ${bound} bytes to be searched`,
  maxEntities: bound => `has more than ${bound} entities`,
  maxValues: bound => `has more than ${bound} values`,
  maxDepth: bound => `has more than ${bound} levels`,
  timeoutMs: bound => `took longer than ${bound} ms`,
};

/** A location, with all of its targets and their files, may have as much as so many files. */
export const LOCATION_FACTOR = 10;

/** The error of a source beyond a bound. Its message is shown at the location. */
export function tooMuch(bound: WholeBound, bounds: SourceBounds): InputError {
  const key = bound === 'timeoutMs' ? 'timeout' : bound;
  return new InputError(
    `The source ${TEXTS[bound](
      bounds[bound].toLocaleString('en'),
    )}, the bound of this portal (tenancy.engines.sources.${key})`,
  );
}

/** The error of an archive whose files are too large on disk. */
export function tooMuchUnpacked(
  times: number,
  { maxArchiveBytes }: SourceBounds,
): InputError {
  return new InputError(
    `The source has more than ${(times * maxArchiveBytes).toLocaleString(
      'en',
    )} bytes of files, ${times} times the bound of this portal (tenancy.engines.sources.maxArchiveBytes)`,
  );
}

/** The error of a location beyond its bound. */
export function tooManyTargets({ maxEntities }: SourceBounds): InputError {
  return new InputError(
    `The location has more than ${maxEntities.toLocaleString(
      'en',
    )} targets, the bound of this portal (tenancy.engines.sources.maxEntities)`,
  );
}

/** The error of a location whose targets together are beyond the bound. */
export function tooMuchInAll(
  bound: 'maxBytes' | 'maxEntities',
  bounds: SourceBounds,
): InputError {
  const most = (bounds[bound] * LOCATION_FACTOR).toLocaleString('en');
  const unit = bound === 'maxBytes' ? 'bytes' : 'entities';
  return new InputError(
    `The targets of the location have more than ${most} ${unit} together, ${LOCATION_FACTOR} times the bound of this portal (tenancy.engines.sources.${bound}): divide it into several`,
  );
}

/** The most files that one entity includes by placeholders. */
export const MOST_INCLUDES = 100;

/** The error of placeholders that include too many files. */
export function tooManyIncluded(): InputError {
  return new InputError(
    `Too many files are included by placeholders: an entity may include ${MOST_INCLUDES}, and all entities of a dry run ${
      MOST_INCLUDES * LOCATION_FACTOR
    }`,
  );
}

/** The error of placeholders whose files are too large together. */
export function tooMuchIncluded(maxBytes: number): InputError {
  return new InputError(
    `The files that are included by placeholders have more than ${maxBytes.toLocaleString(
      'en',
    )} bytes together, the bound of this portal (tenancy.engines.sources.maxBytes)`,
  );
}

/** Why an entity was stored without its content. */
const ANNOTATION_TOO_LARGE = 'catalog-tenancy/too-large';

/**
 * The entity for the engine to store. One beyond the bound is stored without its content, which the
 * engine would read again and again; {@link refuseLarge} refuses it when it is processed.
 *
 * @param json - the same entity
 */
export function withinSize(
  entity: Entity,
  json: string,
  bounds: Pick<SourceBounds, 'maxEntityBytes'>,
): Entity {
  const bytes = Buffer.byteLength(json);
  if (bytes <= bounds.maxEntityBytes) {
    return entity;
  }
  const { apiVersion, kind, metadata } = entity;
  const { message } = tooLarge(bytes, bounds);
  return {
    apiVersion,
    kind,
    metadata: {
      name: metadata?.name,
      namespace: metadata?.namespace,
      annotations: { [ANNOTATION_TOO_LARGE]: message },
    },
  };
}

/** @throws InputError for an entity beyond the bound */
export function refuseLarge(
  entity: Entity,
  bounds: Pick<SourceBounds, 'maxEntityBytes'>,
): void {
  const reason = entity.metadata.annotations?.[ANNOTATION_TOO_LARGE];
  if (reason !== undefined) {
    throw new InputError(reason);
  }
  const bytes = Buffer.byteLength(JSON.stringify(entity));
  if (bytes > bounds.maxEntityBytes) {
    throw tooLarge(bytes, bounds);
  }
}

function tooLarge(
  bytes: number,
  { maxEntityBytes }: Pick<SourceBounds, 'maxEntityBytes'>,
): InputError {
  return new InputError(
    `The entity has ${bytes.toLocaleString(
      'en',
    )} bytes as JSON, more than ${maxEntityBytes.toLocaleString(
      'en',
    )}, the bound of this portal (tenancy.engines.sources.maxEntityBytes)`,
  );
}
