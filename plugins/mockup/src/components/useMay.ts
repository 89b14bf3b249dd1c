import { usePermission } from '@backstage/plugin-permission-react';

/**
 * Whether the user may do something; nothing until that is known. Where it can't be found out, the
 * backend decides: it refuses what it has to.
 */
export function useMay(
  input: Parameters<typeof usePermission>[0],
): boolean | undefined {
  const { loading, allowed, error } = usePermission(input);
  return loading ? undefined : allowed || error !== undefined;
}
