import {
  parseEntityRef,
  stringifyEntityRef,
  type Entity,
} from '@backstage/catalog-model';
import { type ApiHolder, useApiHolder } from '@backstage/frontend-plugin-api';
import { catalogApiRef } from '@backstage/plugin-catalog-react';
import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { createContext, type ReactNode, useContext, useMemo } from 'react';
import type {
  MockupComponent,
  MockupDataSources,
} from '../registry/MockupComponentBlueprint';

/** More than this a layout asks. */
export class TooManyQuestionsError extends Error {}

/**
 * What the items of one layout have asked for, each thing once for as long as the layout is shown:
 * a page that is opened later asks again.
 */
export class PageData implements MockupDataSources {
  readonly apis: ApiHolder;
  readonly #answers = new Map<string, Promise<unknown>>();
  /** How many items show the answer to a question. */
  readonly #shown = new Map<string, number>();
  /** By reference. */
  readonly #entities = new Map<string, Promise<Entity | undefined>>();
  /** The references of the next request, and its answer in the same order. */
  #next: string[] = [];
  #batch: Promise<(Entity | undefined)[]> | undefined;

  constructor(apis: ApiHolder) {
    this.apis = apis;
  }

  /**
   * Says that an item shows what a component asks with these properties, until what is returned is
   * called. In an editor, properties change all the time.
   */
  show(component: MockupComponent, props: Record<string, unknown>): () => void {
    const key = keyOf(component, props);
    const count = (by: number) =>
      this.#shown.set(key, (this.#shown.get(key) ?? 0) + by);
    count(1);
    return () => count(-1);
  }

  /** Asks what a component asks with these properties. A failure is forgotten. */
  ask(
    component: MockupComponent,
    props: Record<string, unknown>,
  ): Promise<unknown> {
    const key = keyOf(component, props);
    const { data } = component;
    let answer = this.#answers.get(key);
    if (!answer) {
      if (this.#answers.size >= MOCKUP_LIMITS.layoutQueries) {
        this.#forgetWhatNobodyShows();
      }
      if (this.#answers.size >= MOCKUP_LIMITS.layoutQueries) {
        return Promise.reject(new TooManyQuestionsError());
      }
      answer = Promise.resolve(data?.query(props, this));
      this.#answers.set(key, answer);
      answer.catch(() => this.#answers.delete(key));
    }
    return answer;
  }

  #forgetWhatNobodyShows(): void {
    for (const key of [...this.#answers.keys()]) {
      if (!this.#shown.get(key)) {
        this.#answers.delete(key);
        this.#shown.delete(key);
      }
    }
  }

  /**
   * {@inheritDoc MockupDataSources.entity}
   *
   * Components take it out of the sources, so it is bound to them.
   */
  readonly entity = async (entityRef: string): Promise<Entity | undefined> => {
    const ref = stringifyEntityRef(parseEntityRef(entityRef));
    let found = this.#entities.get(ref);
    if (!found) {
      found = this.#inBatch(ref);
      this.#entities.set(ref, found);
      found.catch(() => this.#entities.delete(ref));
    }
    return found;
  };

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
    return (await catalogOf(this).getEntitiesByRefs({ entityRefs })).items;
  }
}

/** @throws Error if the portal has no catalog */
export function catalogOf({ apis }: Pick<MockupDataSources, 'apis'>) {
  const catalogApi = apis.get(catalogApiRef);
  if (!catalogApi) {
    throw new Error('The portal has no catalog');
  }
  return catalogApi;
}

function keyOf(
  { name }: MockupComponent,
  props: Record<string, unknown>,
): string {
  return JSON.stringify([name, props]);
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
