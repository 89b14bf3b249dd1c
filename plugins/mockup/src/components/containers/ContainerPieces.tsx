import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Tab, TabList, TabPanel, Tabs, Text } from '@backstage/ui';
import { type LayoutItem, phonePlaceOf } from 'backstage-plugin-mockup-common';
import type { CSSProperties, ReactNode } from 'react';
import { mockupTranslationRef } from '../../translation';
import {
  ItemView,
  LayoutGrid,
  useHasOverlays,
  useIsPhone,
  useOrdered,
} from '../LayoutView';
import type { MockupComponentProps } from '../registry/MockupComponentBlueprint';
import styles from './ContainerPieces.module.css';

export interface ContainerProps {
  title?: string;
  items?: LayoutItem[];
}

const NO_ITEMS: LayoutItem[] = [];

/** A title, and a grid of its own. */
export function SectionPiece({ props }: MockupComponentProps<ContainerProps>) {
  const { items = [] } = props;
  return (
    <Frame {...props}>
      <LayoutGrid items={items} />
    </Frame>
  );
}

/** Items side by side, each as wide as the others. */
export function ColumnsPiece({ props }: MockupComponentProps<ContainerProps>) {
  const ordered = useOrdered(props.items ?? NO_ITEMS);
  const style = { '--columns': ordered.length } as CSSProperties;
  return (
    <Frame {...props}>
      <div className={styles.columns} style={style}>
        {ordered.map(item => (
          <ItemView key={item.i} item={item} />
        ))}
      </div>
    </Frame>
  );
}

/** Items of which one is shown. */
export function TabsPiece({ props }: MockupComponentProps<ContainerProps>) {
  const { title, items = NO_ITEMS } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const showsAll = useHasOverlays();
  const isPhone = useIsPhone();
  const ordered = useOrdered(items).filter(
    // What a phone does not show has no tab there.
    item => !isPhone || !phonePlaceOf(item).hidden,
  );
  return (
    <Frame {...props}>
      {showsAll ? (
        ordered.map(item => <ItemView key={item.i} item={item} />)
      ) : (
        <Tabs className={styles.tabs}>
          <TabList aria-label={title || t('components.containers.tabs')}>
            {ordered.map(({ i, props: { title: name } }, at) => (
              <Tab key={i} id={i}>
                {typeof name === 'string' && name
                  ? name
                  : t('components.containers.tab', { number: String(at + 1) })}
              </Tab>
            ))}
          </TabList>
          {ordered.map(item => (
            <TabPanel key={item.i} id={item.i} className={styles.panel}>
              <ItemView item={item} />
            </TabPanel>
          ))}
        </Tabs>
      )}
    </Frame>
  );
}

function Frame(props: ContainerProps & { children: ReactNode }) {
  const { title, items = [], children } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <div className={styles.frame}>
      {title && (
        <Text as="p" dir="auto" weight="bold">
          {title}
        </Text>
      )}
      {items.length > 0 ? (
        children
      ) : (
        <Text as="p" color="secondary">
          {t('components.containers.empty')}
        </Text>
      )}
    </div>
  );
}
