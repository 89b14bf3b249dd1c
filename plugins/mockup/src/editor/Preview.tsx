import { useTranslationRef } from '@backstage/frontend-plugin-api';
import type { ReactNode } from 'react';
import { LayoutView } from '../components/LayoutView';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Items } from './model/grid';
import { PREVIEW_WIDTHS } from './Toolbar';

/** The mockup as a device shows it. */
export function Preview(props: {
  items: Items;
  view: keyof typeof PREVIEW_WIDTHS;
  /** Beside it. */
  children?: ReactNode;
}) {
  const { items, view, children } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <section
      className={styles.previewFrame}
      aria-label={t(`editor.views.${view}`)}
      // It scrolls where the device is wider than the page.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div
        className={styles.preview}
        style={{ width: PREVIEW_WIDTHS[view] ?? '100%' }}
      >
        <LayoutView items={items} isStacked isPhone={view === 'phone'} />
      </div>
      {children}
    </section>
  );
}
