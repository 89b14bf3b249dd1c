import { useRouteRef } from '@backstage/frontend-plugin-api';
import catalogPlugin from '@backstage/plugin-catalog/alpha';
import { EntityRelationsGraph } from '@backstage/plugin-catalog-graph';
import type { MockupComponentProps } from 'backstage-plugin-mockup';
import { useNavigate } from 'react-router-dom';

export interface RelationsProps {
  entityRef: string;
  depth?: number;
}

const REF = /^([^:/\s]+):(?:([^:/\s]+)\/)?([^:/\s]+)$/;

/** The stock graph around an entity, which has the room of its item. */
export function Relations({ props }: MockupComponentProps<RelationsProps>) {
  const toEntity = useRouteRef(catalogPlugin.routes.catalogEntity);
  const navigate = useNavigate();
  const [, kind = '', namespace = 'default', name = ''] =
    REF.exec(props.entityRef) ?? [];
  return (
    <div style={{ height: '100%' }}>
      <EntityRelationsGraph
        rootEntityNames={{ kind, namespace, name }}
        maxDepth={props.depth ?? 1}
        zoom="enable-on-click"
        onNodeClick={({ entity }) => {
          const href = toEntity?.({
            kind: entity.kind.toLocaleLowerCase('en-US'),
            namespace: entity.metadata.namespace ?? 'default',
            name: entity.metadata.name,
          });
          if (href) {
            navigate(href);
          }
        }}
      />
    </div>
  );
}
