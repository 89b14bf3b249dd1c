import { InputError } from '@backstage/errors';
import {
  type PlaceholderResolver,
  type PlaceholderResolverParams,
  processingResult,
} from '@backstage/plugin-catalog-node';
import createLimit, { type Limit } from 'p-limit';
import {
  LOCATION_FACTOR,
  MOST_INCLUDES,
  type SourceBounds,
  tooManyIncluded,
  tooMuchIncluded,
} from './bounds';
import { currentDryRun } from './dryRuns';
import type { SourceParser } from './SourceParser';

/** What remains for the files that one entity includes, or all entities of a dry run. */
interface Budget {
  files: number;
  bytes: number;
  readonly maxBytes: number;
  /** All files at once would be in memory before they are counted. */
  oneAtATime: Limit;
}

/**
 * `$text`, `$json` and `$yaml` within bounds: Backstage reads all files of an entity at once, and
 * parses them in the thread of all tenants.
 */
export function createPlaceholders({
  bounds,
  parser,
  tenantId,
}: {
  bounds: SourceBounds;
  parser: SourceParser;
  tenantId: string;
}): Record<'json' | 'text' | 'yaml', PlaceholderResolver> {
  const budgets = new WeakMap<object, Budget>();

  /** Backstage makes one `emit` for each entity that it processes. */
  function budgetOf({ emit }: PlaceholderResolverParams): Budget {
    const dryRun = currentDryRun();
    const owner = dryRun ?? emit;
    const factor = dryRun ? LOCATION_FACTOR : 1;
    const maxBytes = bounds.maxBytes * factor;
    const budget = budgets.get(owner) ?? {
      files: MOST_INCLUDES * factor,
      bytes: maxBytes,
      maxBytes,
      oneAtATime: createLimit(1),
    };
    budgets.set(owner, budget);
    return budget;
  }

  async function read(
    params: PlaceholderResolverParams,
    url: string,
  ): Promise<string> {
    const budget = budgetOf(params);
    budget.files -= 1;
    if (budget.files < 0) {
      throw tooManyIncluded();
    }
    return budget.oneAtATime(async () => {
      if (budget.bytes < 0) {
        throw tooMuchIncluded(budget.maxBytes);
      }
      const content = await params.read(url);
      budget.bytes -= content.length;
      if (budget.bytes < 0) {
        throw tooMuchIncluded(budget.maxBytes);
      }
      params.emit(processingResult.refresh(`url:${url}`));
      return content.toString('utf8');
    });
  }

  async function parse(
    params: PlaceholderResolverParams,
    url: string,
    format: 'json' | 'yaml',
  ) {
    const { key, value } = params;
    const text = await read(params, url);
    const documents = await parser.parse(tenantId, text, format);
    const [document] = documents;
    if (documents.length !== 1) {
      throw new InputError(
        `Placeholder $${key} expected to find exactly one document of data at ${value}, found ${documents.length}`,
      );
    }
    if ('error' in document) {
      throw new InputError(
        `Placeholder $${key} found an error in the data at ${value}, ${document.error}`,
      );
    }
    return JSON.parse(document.json);
  }

  return {
    text: async params => read(params, urlOf(params)),
    json: async params => parse(params, urlOf(params), 'json'),
    yaml: async params => parse(params, urlBesideOf(params), 'yaml'),
  };
}

function urlOf({
  key,
  value,
  baseUrl,
  resolveUrl,
}: PlaceholderResolverParams): string {
  if (typeof value !== 'string') {
    throw new InputError(
      `Placeholder $${key} expected the path of a file, such as ./api.yaml`,
    );
  }
  return resolveUrl(value, baseUrl);
}

/** Of a file beside the one that names it, or in a folder below: others may be of another repository. */
function urlBesideOf(params: PlaceholderResolverParams): string {
  const { key, value, baseUrl, resolveUrl } = params;
  const url = urlOf(params);
  if (!url.startsWith(resolveUrl('./', baseUrl))) {
    throw new InputError(
      `Placeholder $${key} expected a file beside the one of the entity or in a folder below, such as ./api.yaml, and found ${value}`,
    );
  }
  return url;
}
