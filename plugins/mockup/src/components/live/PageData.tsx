import {
  parseEntityRef,
  stringifyEntityRef,
  type Entity,
} from '@backstage/catalog-model';
import { type ApiHolder, useApiHolder } from '@backstage/frontend-plugin-api';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import type {
  MockupComponent,
  MockupDataSources,
} from '../registry/MockupComponentBlueprint';

/** What the items of one layout may ask together: a layout comes from somebody else. */
const MOST_QUESTIONS = 100;

/** More than this a layout asks. */
export class TooManyQuestionsError extends Error {}

/**
 * What the items of one layout have asked for, each thing once for as long as the layout is shown:
 * whoever opens it later asks again.
 */
export class PageData implements MockupDataSources {
  readonly apis: ApiHolder;
  readonly #answers = new Map<string, Promise<unknown>>();
  #asked = new Map<string, Promise<Entity | undefined>>();
  #next: string[] = [];

  constructor(apis: ApiHolder) {
    this.apis = apis;
  }

  /** Asks what a component asks with these properties. A failure is forgotten. */
  ask(
    { name, data }: MockupComponent,
    props: Record<string, unknown>,
  ): Promise<unknown> {
    const key = JSON.stringify([name, props]);
    let answer = this.#answers.get(key);
    if (!answer) {
      if (this.#answers.size >= MOST_QUESTIONS) {
        return Promise.reject(new TooManyQuestionsError());
      }
      answer = Promise.resolve(data?.query(props, this));
      this.#answers.set(key, answer);
      answer.catch(() => this.#answers.delete(key));
    }
    return answer;
  }

  /** {@inheritDoc MockupDataSources.entity} */
  async entity(entityRef: string): Promise<Entity | undefined> {
    const ref = stringifyEntityRef(parseEntityRef(entityRef));
    let found = this.#asked.get(ref);
    if (!found) {
      found = this.#inBatch(ref);
      this.#asked.set(ref, found);
      found.catch(() => this.#asked.delete(ref));
    }
    return found;
  }

  #batch: Promise<(Entity | undefined)[]> | undefined;

  async #inBatch(ref: string): Promise<Entity | undefined> {
    const place = this.#next.push(ref) - 1;
    this.#batch ??= this.#readLater();
    return (await this.#batch)[place];
  }

  /** Once all that are drawn at the same time have asked. */
  async #readLater(): Promise<(Entity | undefined)[]> {
    await new Promise(resolve => setTimeout(resolve));
    const entityRefs = this.#next;
    this.#next = [];
    this.#batch = undefined;
    const catalogApi = this.apis.get(catalogApiRef);
    if (!catalogApi) {
      throw new Error('The portal has no catalog');
    }
    return (await catalogApi.getEntitiesByRefs({ entityRefs })).items;
  }
}

const PageDataContext = createContext<PageData | undefined>(undefined);

/** Has the items of a layout ask together. */
export function PageDataProvider({ children }: { children: ReactNode }) {
  const apis = useApiHolder();
  const data = useMemo(() => new PageData(apis), [apis]);
  return (
    <PageDataContext.Provider value={data}>{children}</PageDataContext.Provider>
  );
}

/** What the layout around asks with; an item alone asks for itself. */
export function usePageData(): PageData {
  const apis = useApiHolder();
  const shared = useContext(PageDataContext);
  const own = useMemo(() => new PageData(apis), [apis]);
  return shared ?? own;
}
