import { useSearchParams } from 'react-router-dom';

/** Which part of a list is shown, beside what else the list is chosen by. */
export interface ListQuery {
  search: string;
  /** From 1 on. */
  page: number;
}

/**
 * Keeps in the address what a list shows, so that back, reload and links work.
 *
 * @param choices - by name, the values that each choice of the list has; the first one, by
 * default, is not in the address
 */
export function useListQuery<
  TChoices extends Record<string, readonly string[]> = {},
>(choices: TChoices) {
  type Query = ListQuery & {
    [name in keyof TChoices]: TChoices[name][number];
  };
  const [params, setParams] = useSearchParams();
  const page = Number(params.get('page') ?? 1);
  const query = {
    search: params.get('search') ?? '',
    page: Number.isSafeInteger(page) && page > 0 ? page : 1,
    ...Object.fromEntries(
      Object.entries(choices).map(([name, values]) => {
        const [byDefault] = values;
        const given = params.get(name);
        return [name, values.find(value => value === given) ?? byDefault];
      }),
    ),
  } as Query;
  /** Another choice or search begins with the first page. */
  const setQuery = (
    changes: Partial<Query>,
    how: 'push' | 'replace' = 'push',
  ) => {
    const next: Record<string, string | number> = {
      ...query,
      page: 1,
      ...changes,
    };
    const defaults: Record<string, string | number> = {
      search: '',
      page: 1,
      ...Object.fromEntries(
        Object.entries(choices).map(([name, [byDefault]]) => [name, byDefault]),
      ),
    };
    setParams(
      Object.fromEntries(
        Object.entries(next)
          .filter(([name, value]) => value !== defaults[name])
          .map(([name, value]) => [name, String(value)]),
      ),
      { replace: how === 'replace' },
    );
  };
  return [query, setQuery] as const;
}
