import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text } from '@backstage/ui';
import { RiPuzzleLine } from '@remixicon/react';
import { useState } from 'react';
import type { MockupComponent } from '../components/registry/MockupComponentBlueprint';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import { focusByArrows } from './focusByArrows';

/** What can be added to a mockup. */
export function Palette(props: {
  components: readonly MockupComponent[];
  onAdd: (component: MockupComponent) => void;
  /** Called with nothing where the drag has ended. */
  onDrag: (component: MockupComponent | undefined) => void;
}) {
  const { components, onAdd, onDrag } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  /** Where Tab stops: each of them would be a long way to the canvas. */
  const [stop, setStop] = useState(0);
  return (
    <section className={styles.palette} aria-labelledby="mockup-palette">
      <h2 id="mockup-palette" className={styles.heading}>
        {t('editor.palette.title')}
      </h2>
      <Text as="p" color="secondary">
        {t('editor.palette.help')}
      </Text>
      <div
        role="toolbar"
        aria-orientation="vertical"
        aria-labelledby="mockup-palette"
        className={styles.components}
        onKeyDown={focusByArrows}
      >
        {components.map((component, at) => (
          <button
            key={component.name}
            type="button"
            className={styles.component}
            draggable
            aria-label={t('editor.palette.add', { title: component.title })}
            tabIndex={at === stop ? 0 : -1}
            onFocus={() => setStop(at)}
            onClick={() => onAdd(component)}
            onDragStart={event => {
              // Without any data Firefox drags nothing.
              event.dataTransfer.setData('text/plain', component.title);
              event.dataTransfer.effectAllowed = 'copy';
              onDrag(component);
            }}
            onDragEnd={() => onDrag(undefined)}
          >
            <span aria-hidden className={styles.icon}>
              {component.icon ?? <RiPuzzleLine size={16} />}
            </span>
            {component.title}
          </button>
        ))}
      </div>
    </section>
  );
}
