import type { Entity } from '@backstage/catalog-model';
import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  EntityDisplayName,
  EntityRefLink,
} from '@backstage/plugin-catalog-react';
import { Button, ButtonLink, Link, Text } from '@backstage/ui';
import { RiImageLine } from '@remixicon/react';
import {
  type ComponentProps,
  type ReactNode,
  useEffect,
  useRef,
  useState,
} from 'react';
import { mockupTranslationRef } from '../../translation';
import type { MockupComponentProps } from './MockupComponentBlueprint';
import { isElsewhere, safeAddress } from './safeAddress';
import styles from './StockPieces.module.css';

export interface HeaderProps {
  title: string;
  subtitle?: string;
  level?: 2 | 3 | 4;
}

const HEADER_SIZES = {
  2: 'title-medium',
  3: 'title-small',
  4: 'title-x-small',
} as const;

export function HeaderPiece({ props }: MockupComponentProps<HeaderProps>) {
  const { title, subtitle, level = 2 } = props;
  return (
    <Room className={styles.header} dir="auto" data-grows>
      <Text as={`h${level}`} variant={HEADER_SIZES[level]} weight="bold">
        {title}
      </Text>
      {subtitle && (
        <Text as="p" color="secondary">
          {subtitle}
        </Text>
      )}
    </Room>
  );
}

export interface TextProps {
  text: string;
  align?: 'left' | 'center' | 'right';
}

export function TextPiece({ props }: MockupComponentProps<TextProps>) {
  const { text, align } = props;
  return (
    <Room className={styles.text} style={{ textAlign: align }} data-grows>
      {text.split(/\n\s*\n/).map((paragraph, at) => (
        <Text as="p" dir="auto" key={at}>
          {paragraph}
        </Text>
      ))}
    </Room>
  );
}

export interface ImageProps {
  src?: string;
  alt?: string;
  fit?: 'contain' | 'cover';
}

export function ImagePiece({ props }: MockupComponentProps<ImageProps>) {
  const { src, alt = '', fit = 'contain' } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  /** What could not be loaded. */
  const [broken, setBroken] = useState<string>();
  const address = src ? safeAddress(src, 'image') : undefined;
  if (address && address !== broken) {
    return (
      <img
        className={styles.image}
        src={address}
        alt={alt}
        style={{ objectFit: fit }}
        draggable={false}
        // Whose server it is learns nothing of the portal.
        referrerPolicy="no-referrer"
        loading="lazy"
        onError={() => setBroken(address)}
      />
    );
  }
  const problem = src
    ? t(
        address
          ? 'components.drawing.imageBroken'
          : 'components.drawing.addressRefused',
        { address: src },
      )
    : undefined;
  return (
    <div className={styles.noImage}>
      <RiImageLine size={24} aria-hidden />
      <span>{problem ?? (alt || t('components.drawing.noImage'))}</span>
    </div>
  );
}

export interface ButtonProps {
  label: string;
  variant?: 'primary' | 'secondary' | 'tertiary';
  href?: string;
}

export function ButtonPiece({ props }: MockupComponentProps<ButtonProps>) {
  const { label, variant, href } = props;
  const address = href ? safeAddress(href, 'link') : undefined;
  return (
    <div className={styles.button} dir="auto">
      {address ? (
        <ButtonLink variant={variant} href={address} {...targetOf(address)}>
          {label}
        </ButtonLink>
      ) : (
        <Button variant={variant}>{label}</Button>
      )}
      {href && !address && <RefusedAddress address={href} />}
    </div>
  );
}

export interface TableProps {
  title?: string;
  columns: string[];
  rows: (string | number | boolean | null)[][];
}

export function TablePiece({ props }: MockupComponentProps<TableProps>) {
  const { title, columns, rows } = props;
  return (
    <Card title={title}>
      <Table
        title={title}
        columns={columns}
        rows={rows.map(row => columns.map((_, at) => String(row[at] ?? '')))}
      />
    </Card>
  );
}

/** The table of a piece. Neither columns nor rows move while it is there. */
export function Table(props: {
  title: string | undefined;
  columns: string[];
  rows: ReactNode[][];
}) {
  const { title, columns, rows } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <table
      className={styles.table}
      aria-label={title || t('components.drawing.table')}
    >
      <thead>
        <tr>
          {columns.map((column, at) => (
            <th key={at} scope="col" dir="auto">
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row, at) => (
          <tr key={at}>
            {row.map((cell, column) => (
              <td key={column} dir="auto">
                {cell}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export interface ChartProps {
  title?: string;
  type?: 'bar' | 'line';
  data: { label: string; value: number }[];
}

const CHART = { width: 300, height: 120 };

export function ChartPiece({ props }: MockupComponentProps<ChartProps>) {
  const { title, type = 'bar', data } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const values = data.map(({ value }) => value);
  const top = Math.max(0, ...values);
  const bottom = Math.min(0, ...values);
  const yOf = (value: number) =>
    ((top - value) / (top - bottom || 1)) * CHART.height;
  const step = CHART.width / Math.max(data.length, 1);
  const summary = data
    .map(({ label, value }) => `${label}: ${value}`)
    .join(', ');
  return (
    <Card title={title}>
      <div
        className={styles.chart}
        role="img"
        aria-label={`${title || t('components.drawing.chart')}. ${summary}`}
      >
        <svg
          aria-hidden
          viewBox={`0 0 ${CHART.width} ${CHART.height}`}
          preserveAspectRatio="none"
        >
          {type === 'bar' ? (
            data.map(({ value }, at) => (
              <rect
                key={at}
                x={(at + 0.15) * step}
                width={step * 0.7}
                y={yOf(Math.max(value, 0))}
                height={yOf(Math.min(value, 0)) - yOf(Math.max(value, 0))}
              />
            ))
          ) : (
            <polyline
              vectorEffect="non-scaling-stroke"
              points={values
                .map((value, at) => `${(at + 0.5) * step},${yOf(value)}`)
                .join(' ')}
            />
          )}
          <line
            vectorEffect="non-scaling-stroke"
            x1={0}
            x2={CHART.width}
            y1={yOf(0)}
            y2={yOf(0)}
          />
        </svg>
        <div aria-hidden className={styles.chartLabels}>
          {data.map(({ label }, at) => (
            <span key={at} dir="auto">
              {label}
            </span>
          ))}
        </div>
      </div>
    </Card>
  );
}

export interface EntityCardProps {
  entityRef: string;
  description?: string;
}

export function EntityCardPiece({
  props,
}: MockupComponentProps<EntityCardProps>) {
  const { entityRef, description } = props;
  return (
    <Card>
      <EntityLink of={entityRef} />
      <Text as="p" variant="body-small" color="secondary">
        {entityRef}
      </Text>
      {description && (
        <Text as="p" dir="auto">
          {description}
        </Text>
      )}
    </Card>
  );
}

/** The name of an entity, which leads to its page. */
export function EntityLink({ of }: { of: Entity | string }) {
  return (
    <EntityRefLink entityRef={of} disableTooltip>
      <EntityDisplayName entityRef={of} disableTooltip />
    </EntityRefLink>
  );
}

export interface LinkListProps {
  title?: string;
  links: { label: string; href: string }[];
}

export function LinkListPiece({ props }: MockupComponentProps<LinkListProps>) {
  const { title, links } = props;
  return (
    <Card title={title}>
      <Links links={links} />
    </Card>
  );
}

/** Of a text below a link. */
const LONGEST_TEXT = 200;

/** Links, of which those that might run code are no links. */
export function Links(props: {
  links: { label: string; href: string; text?: string }[];
}) {
  const { links } = props;
  return (
    <ul className={styles.links}>
      {links.map(({ label, href, text }, at) => {
        const address = safeAddress(href, 'link');
        return (
          <li key={at} dir="auto">
            {address ? (
              <Link href={address} {...targetOf(address)}>
                {label}
              </Link>
            ) : (
              <>
                <Text as="span">{label}</Text> <RefusedAddress address={href} />
              </>
            )}
            {text && (
              <Text as="p" variant="body-small" color="secondary">
                {text.slice(0, LONGEST_TEXT)}
              </Text>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function targetOf(address: string) {
  return isElsewhere(address)
    ? { target: '_blank', rel: 'noopener noreferrer' }
    : {};
}

function RefusedAddress({ address }: { address: string }) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Text as="span" variant="body-small" color="secondary">
      {t('components.drawing.addressRefused', { address })}
    </Text>
  );
}

/** The box of a piece. */
export function Card({
  title,
  children,
}: {
  title?: string;
  children: ReactNode;
}) {
  return (
    <Room className={styles.card}>
      {title && (
        <Text as="p" dir="auto" weight="bold">
          {title}
        </Text>
      )}
      {children}
    </Room>
  );
}

/** All the room of a piece. What does not fit is scrolled to, by the keyboard as well. */
function Room(props: ComponentProps<'div'>) {
  const room = useRef<HTMLDivElement>(null);
  const [isFull, setFull] = useState(false);
  useEffect(() => {
    const { current } = room;
    // Not every browser can.
    if (!current || typeof ResizeObserver === 'undefined') {
      return undefined;
    }
    const observer = new ResizeObserver(() =>
      setFull(
        current.scrollHeight > current.clientHeight ||
          current.scrollWidth > current.clientWidth,
      ),
    );
    [current, ...current.children].forEach(each => observer.observe(each));
    return () => observer.disconnect();
  });
  // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
  return <div {...props} ref={room} tabIndex={isFull ? 0 : undefined} />;
}
