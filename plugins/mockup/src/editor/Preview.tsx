import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { calcGridItemPosition } from 'react-grid-layout';
import { mockupTranslationRef } from '../translation';
import { positionParams } from './canvas/positionParams';
import { useWidth } from './canvas/useWidth';
import styles from './editor.module.css';
import { bottomOf, boxOf, GRID, type Items } from './model/grid';
import { Piece } from './pieces';
import { PREVIEW_WIDTHS } from './Toolbar';

/** The mockup as a device shows it. */
export function Preview(props: {
  items: Items;
  view: keyof typeof PREVIEW_WIDTHS;
}) {
  const { items, view } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { width, ref } = useWidth();
  return (
    <div className={styles.previewFrame}>
      <div
        role="region"
        ref={ref}
        className={styles.preview}
        style={{
          width: PREVIEW_WIDTHS[view] ?? '100%',
          height: (bottomOf(items) + 1) * (GRID.rowHeight + GRID.margin[1]),
        }}
        aria-label={t('editor.views.preview', { width: String(width) })}
      >
        {items.map(item => {
          const { x, y, w, h } = boxOf(item);
          const place = calcGridItemPosition(positionParams(width), x, y, w, h);
          return (
            <div key={item.i} className={styles.previewItem} style={place}>
              <Piece component={item.component} props={item.props} />
            </div>
          );
        })}
      </div>
    </div>
  );
}
