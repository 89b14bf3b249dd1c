import {
  type Entity,
  RELATION_OWNED_BY,
  stringifyEntityRef,
} from '@backstage/catalog-model';
import { MarkdownContent } from '@backstage/core-components';
import {
  configApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import {
  EntityRefLinks,
  getEntityRelations,
  useStarredEntities,
} from '@backstage/plugin-catalog-react';
import { Text } from '@backstage/ui';
import { useNumber } from '@internal/pages';
import type { CSSProperties } from 'react';
import { mockupTranslationRef } from '../../translation';
import type { MockupComponentProps } from '../registry/MockupComponentBlueprint';
import {
  Card,
  ChartPiece,
  EntityLink,
  Links,
  Table,
} from '../registry/StockPieces';
import stock from '../registry/StockPieces.module.css';
import { allowedHostsOf, frameAddress } from './frameAddress';
import styles from './live.module.css';
import type { FoundEntities, FoundLink } from './queries';

export interface EntityListProps {
  title?: string;
  filter: string[];
  limit?: number;
}

export interface EntityTableProps extends EntityListProps {
  columns?: EntityColumn[];
}

type EntityColumn = 'kind' | 'type' | 'lifecycle' | 'owner' | 'description';

export function EntityTablePiece(
  input: MockupComponentProps<EntityTableProps, FoundEntities>,
) {
  const { props, data } = input;
  const { title, columns = ['kind', 'type', 'owner'] } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Card title={title}>
      <Table
        title={title}
        columns={['name' as const, ...columns].map(column =>
          t(`components.live.${column}`),
        )}
        rows={data.items.map(entity => [
          <EntityLink key="name" of={entity} />,
          ...columns.map(column => (
            <Cell key={column} entity={entity} column={column} />
          )),
        ])}
      />
      <HowMany {...data} />
    </Card>
  );
}

export function EntityCardsPiece(
  input: MockupComponentProps<EntityListProps, FoundEntities>,
) {
  const { props, data } = input;
  return (
    <Card title={props.title}>
      <ul className={styles.cards}>
        {data.items.map(entity => (
          <li key={stringifyEntityRef(entity)}>
            <EntityLink of={entity} />
            <Text as="p" variant="body-small" color="secondary">
              {[entity.kind, entity.spec?.type].filter(Boolean).join(', ')}
            </Text>
            {entity.metadata.description && (
              <Text as="p" dir="auto" variant="body-small">
                {entity.metadata.description}
              </Text>
            )}
          </li>
        ))}
      </ul>
      <HowMany {...data} />
    </Card>
  );
}

function HowMany({ items, totalItems }: FoundEntities) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const numberOf = useNumber();
  return items.length < totalItems ? (
    <Text as="p" variant="body-small" color="secondary">
      {t('components.live.some', {
        shown: numberOf(items.length),
        total: numberOf(totalItems),
      })}
    </Text>
  ) : null;
}

function Cell({ entity, column }: { entity: Entity; column: EntityColumn }) {
  if (column === 'owner') {
    const owners = getEntityRelations(entity, RELATION_OWNED_BY);
    return owners.length > 0 ? <EntityRefLinks entityRefs={owners} /> : null;
  }
  const { kind, metadata, spec } = entity;
  const value = {
    kind,
    type: spec?.type,
    lifecycle: spec?.lifecycle,
    description: metadata.description,
  }[column];
  return <>{typeof value === 'string' ? value : ''}</>;
}

export interface EntityFieldsProps {
  entityRef: string;
}

export function EntityFieldsPiece({
  data: entity,
}: MockupComponentProps<EntityFieldsProps, Entity>) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const { metadata } = entity;
  const columns = (['owner', 'type', 'lifecycle'] as const).filter(column =>
    column === 'owner'
      ? getEntityRelations(entity, RELATION_OWNED_BY).length > 0
      : entity.spec?.[column],
  );
  return (
    <Card>
      <Text as="p" weight="bold">
        <EntityLink of={entity} />
      </Text>
      {metadata.description && (
        <Text as="p" dir="auto">
          {metadata.description}
        </Text>
      )}
      <dl className={styles.facts}>
        <dt>{t('components.live.kind')}</dt>
        <dd>{entity.kind}</dd>
        {columns.map(column => [
          <dt key={column}>{t(`components.live.${column}`)}</dt>,
          <dd key={`${column} of it`}>
            <Cell entity={entity} column={column} />
          </dd>,
        ])}
      </dl>
      {metadata.links && metadata.links.length > 0 && (
        <Links
          links={metadata.links.map(({ title, url }) => ({
            label: title || url,
            href: url,
          }))}
        />
      )}
    </Card>
  );
}

export interface EntityCountProps {
  label: string;
  filter: string[];
}

export function EntityCountPiece({
  props: { label },
  data,
}: MockupComponentProps<EntityCountProps, number>) {
  const number = useNumber()(data);
  const style = { '--characters': number.length } as CSSProperties;
  return (
    <Card>
      <span className={styles.figure}>
        <span className={styles.number} style={style}>
          {number}
        </span>
      </span>
      <Text as="span" dir="auto" color="secondary">
        {label}
      </Text>
    </Card>
  );
}

export interface EntityChartProps {
  title?: string;
  filter: string[];
  field: string;
}

export function EntityChartPiece({
  props: { title, field },
  data,
}: MockupComponentProps<EntityChartProps, { label: string; value: number }[]>) {
  return (
    <ChartPiece props={{ title: title || field, data }} data={undefined} />
  );
}

export interface MarkdownProps {
  title?: string;
  text?: string;
  entityRef?: string;
  annotation?: string;
}

export function MarkdownPiece({
  props: { title },
  data,
}: MockupComponentProps<MarkdownProps, string>) {
  return (
    <Card title={title}>
      {/* It grows once the code for it is there, which the card has to notice. */}
      <div>
        <MarkdownContent content={data} />
      </div>
    </Card>
  );
}

export interface FoundLinksProps {
  title?: string;
  limit?: number;
}

export interface SearchResultsProps extends FoundLinksProps {
  term: string;
}

/** What was found elsewhere in the portal. */
export function FoundLinksPiece({
  props: { title },
  data,
}: MockupComponentProps<FoundLinksProps, FoundLink[]>) {
  return (
    <Card title={title}>
      <Links links={data} />
    </Card>
  );
}

export interface FrameProps {
  src: string;
  title: string;
}

export function FramePiece({
  props: { src, title },
}: MockupComponentProps<FrameProps>) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const hosts = allowedHostsOf(useApi(configApiRef));
  const address = frameAddress(src, hosts);
  return address ? (
    <iframe
      className={styles.frame}
      src={address}
      title={title}
      // Of its own origin, and with nothing of the portal's.
      sandbox="allow-scripts allow-same-origin allow-forms allow-popups"
      referrerPolicy="no-referrer"
      loading="lazy"
    />
  ) : (
    <Card title={title}>
      <Text as="p">{t('components.live.refused', { address: src })}</Text>
      <Text as="p" variant="body-small" color="secondary">
        {t('components.live.hosts', {
          hosts: hosts.join(', ') || t('components.live.noHosts'),
        })}
      </Text>
    </Card>
  );
}

export interface StarredProps {
  title?: string;
}

export function StarredPiece({
  props: { title },
}: MockupComponentProps<StarredProps>) {
  const { t } = useTranslationRef(mockupTranslationRef);
  const { starredEntities } = useStarredEntities();
  const refs = [...starredEntities].sort();
  return (
    <Card title={title}>
      {refs.length > 0 ? (
        <ul className={stock.links}>
          {refs.map(ref => (
            <li key={ref}>
              <EntityLink of={ref} />
            </li>
          ))}
        </ul>
      ) : (
        <Text as="p" color="secondary">
          {t('components.live.noStars')}
        </Text>
      )}
    </Card>
  );
}
