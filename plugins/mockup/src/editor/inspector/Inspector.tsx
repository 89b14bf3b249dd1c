import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import type { JsonObject } from '@backstage/types';
import { Button, Flex, NumberField, Text } from '@backstage/ui';
import { Loading, ReadFailure, useRead } from '@internal/pages';
import {
  isContainer,
  type LayoutItem,
  MOCKUP_LIMITS,
} from 'backstage-plugin-mockup-common';
import {
  type Dispatch,
  forwardRef,
  useCallback,
  useEffect,
  useRef,
} from 'react';
import { type Box, boxOf, GRID } from '../../components/grid';
import { mockupComponentsApiRef } from '../../components/registry/MockupComponentBlueprint';
import { useWords } from '../../history/difference/useWords';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';
import {
  type EditorAction,
  type EditorState,
  levelItems,
  selectedItems,
} from '../model/editorReducer';
import { containersTo } from '../model/levels';
import { isMovable, isSizable } from '../model/grid';

type PropsForm = typeof import('./PropsForm')['default'];

let loadedForm: PropsForm | undefined;

/**
 * The form, which with its validator is large, and wanted only once something is selected. Where
 * it can't be loaded, such as after an upgrade of the portal, the rest of the editor has to stay.
 */
function usePropsForm() {
  return useRead(async () => {
    loadedForm = loadedForm ?? (await import('./PropsForm')).default;
  }, []);
}

/** The properties of what is selected. */
export const Inspector = forwardRef<
  HTMLElement,
  {
    state: EditorState;
    dispatch: Dispatch<EditorAction>;
    isReadOnly: boolean;
    /** Goes into a container. */
    onEnter: (id: string) => void;
    /** Returns to the item. */
    onClose: (id: string) => void;
  }
>(function InspectorWithRef(props, ref) {
  const { state, dispatch, isReadOnly, onEnter, onClose } = props;
  const components = useApi(mockupComponentsApiRef);
  const { nameOfItem: titleOf } = useWords();
  const { t } = useTranslationRef(mockupTranslationRef);
  const selected = selectedItems(state);
  const [item] = selected;
  const id = item?.i;
  const change = useCallback(
    (next: Record<string, unknown>) =>
      dispatch({ type: 'props', id, props: next, burst: `props ${id}` }),
    [dispatch, id],
  );
  return (
    // Escape, from whatever in it has the focus.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <section
      ref={ref}
      className={styles.inspector}
      aria-labelledby="mockup-inspector"
      onKeyDown={event => {
        if (event.key === 'Escape' && item && !event.defaultPrevented) {
          event.preventDefault();
          onClose(item.i);
        }
      }}
    >
      <h2 id="mockup-inspector" className={styles.heading}>
        {t('editor.inspector.title')}
      </h2>
      {selected.length === 0 && (
        <Text as="p" color="secondary">
          {t('editor.inspector.none')}
        </Text>
      )}
      {selected.length > 1 && (
        <Text as="p" color="secondary">
          {t('editor.inspector.many', {
            number: String(selected.length),
          })}
        </Text>
      )}
      {selected.length === 1 && (
        <Flex key={item.i} direction="column" gap="4">
          <Text as="p">{titleOf(item)}</Text>
          {isContainer(item) && (
            <Button variant="secondary" onPress={() => onEnter(item.i)}>
              {t('editor.levels.open', { item: titleOf(item) })}
            </Button>
          )}
          {renderProps()}
          <PlaceFields
            item={item}
            isReadOnly={isReadOnly}
            onChange={box => dispatch({ type: 'place', id: item.i, box })}
          />
        </Flex>
      )}
      {!isReadOnly && selected.length > 0 && renderMoves()}
    </section>
  );

  function renderMoves() {
    const containers = containersTo(state.content.items, state.level);
    const container = containers.at(-1);
    const others = levelItems(state).filter(
      each => isContainer(each) && !state.selection.has(each.i),
    );
    return (
      <Flex direction="column" gap="2">
        {container && (
          <Button
            variant="secondary"
            onPress={() =>
              dispatch({ type: 'moveOut', to: containers.at(-2)?.i })
            }
          >
            {t('editor.levels.out', { item: titleOf(container) })}
          </Button>
        )}
        {others.map(each => (
          <Button
            key={each.i}
            variant="secondary"
            onPress={() => dispatch({ type: 'moveInto', id: each.i })}
          >
            {t('editor.levels.into', { item: titleOf(each) })}
          </Button>
        ))}
      </Flex>
    );
  }

  function renderProps() {
    const component = components.get(item.component);
    return component ? (
      <PropsFields
        item={item}
        schema={component.schema}
        isReadOnly={isReadOnly}
        onChange={change}
      />
    ) : (
      <Text as="p" color="secondary">
        {t('editor.inspector.unknown', { component: item.component })}
      </Text>
    );
  }
});

/** The properties in a form. */
function PropsFields(props: {
  item: LayoutItem;
  schema: JsonObject;
  isReadOnly: boolean;
  onChange: (props: Record<string, unknown>) => void;
}) {
  const { item, schema, ...rest } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const form = usePropsForm();
  const Form = loadedForm;
  const isLoading = !Form && !form.error;
  const room = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // It had the focus in the place of its first field.
    if (!isLoading && document.activeElement === room.current) {
      focusFirst(room.current);
    }
  }, [isLoading]);
  return (
    <div ref={room} tabIndex={-1} aria-busy={isLoading}>
      {Form && (
        <Form id={item.i} schema={schema} value={item.props} {...rest} />
      )}
      {isLoading && <Loading label={t('editor.loading')} />}
      {!Form && (
        <ReadFailure title={t('editor.inspector.noForm')} state={form} />
      )}
    </div>
  );
}

/** Gives the focus to the first field, or to the place of those that are loading. */
export function focusFirst(section: HTMLElement | null) {
  section
    ?.querySelector<HTMLElement>(
      '[aria-busy="true"], input, select, textarea, button',
    )
    ?.focus();
}

function PlaceFields(props: {
  item: LayoutItem;
  isReadOnly: boolean;
  onChange: (box: Box) => void;
}) {
  const { item, isReadOnly, onChange } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const box = boxOf(item);
  return (
    <fieldset className={styles.place}>
      <legend>{t('editor.inspector.place')}</legend>
      {field('x', t('editor.inspector.column'), isMovable(item), 1)}
      {field('y', t('editor.inspector.row'), isMovable(item), 1)}
      {field('w', t('editor.inspector.width'), isSizable(item), 0)}
      {field('h', t('editor.inspector.height'), isSizable(item), 0)}
    </fieldset>
  );

  /** @param first - what people call the first column or row */
  function field(
    name: keyof Box,
    label: string,
    isPossible: boolean,
    first: number,
  ) {
    return (
      <NumberField
        label={label}
        value={box[name] + first}
        minValue={1}
        maxValue={
          name === 'x' || name === 'w' ? GRID.cols : MOCKUP_LIMITS.layoutRows
        }
        isReadOnly={isReadOnly}
        isDisabled={!isPossible}
        onChange={value => {
          if (Number.isInteger(value)) {
            onChange({ ...box, [name]: value - first });
          }
        }}
      />
    );
  }
}
