import { useEntityPresentation } from '@backstage/plugin-catalog-react';

/** A user or group, by the name that the catalog has for it. */
export function Person({ entityRef }: { entityRef: string }) {
  const { primaryTitle } = useEntityPresentation(entityRef);
  return <span title={entityRef}>{primaryTitle}</span>;
}
