import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { type LayoutItem, MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { useCallback, useRef, useState } from 'react';
import { boxOf } from '../components/grid';
import { mockupTranslationRef } from '../translation';
import {
  type Content,
  type EditorAction,
  editorReducer,
  type EditorState,
  hasRoom,
  openContent,
  selectedItems,
} from './model/editorReducer';
import { containersTo } from './model/levels';

/**
 * The state of the editor, and what was last done, in words, for somebody who does not see it.
 */
export function useEditor(opened: () => Content, titleOf: TitleOf) {
  const [state, setState] = useState(() => openContent(opened()));
  const [said, setSaid] = useState({ text: '', count: 0 });
  const describe = useDescription(titleOf);
  const current = useRef(state);

  const announce = useCallback(
    (text: string) => setSaid(last => ({ text, count: last.count + 1 })),
    [],
  );
  const describing = useRef(describe);
  describing.current = describe;
  const dispatch = useCallback(
    (action: EditorAction) => {
      const before = current.current;
      const after = editorReducer(before, action);
      current.current = after;
      setState(after);
      const text = describing.current(action, before, after);
      if (text) {
        announce(text);
      }
    },
    [announce],
  );
  return { state, dispatch, said, announce };
}

/** What an item is called. */
type TitleOf = (item: LayoutItem) => string;

function useDescription(titleOf: TitleOf) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    action: EditorAction,
    before: EditorState,
    after: EditorState,
  ): string | undefined => {
    const selected = selectedItems(after);
    const count = selected.length;
    const isSame = before.content === after.content;
    const container = containersTo(after.content.items, after.level).at(-1);
    const tooDeep = t('editor.said.tooDeep', {
      most: String(MOCKUP_LIMITS.containerDepth),
    });
    switch (action.type) {
      case 'add':
        if (isSame) {
          return hasRoom(before.content.items, action.items)
            ? tooDeep
            : t('editor.said.full', {
                most: String(MOCKUP_LIMITS.layoutItems),
              });
        }
        if (action.into !== undefined) {
          return t('editor.said.addedInto', {
            item: titleOf(action.items[0]),
            container: titleOf(selected[0]),
          });
        }
        return count === 1
          ? t('editor.said.added', { item: titleOf(selected[0]) })
          : t('editor.said.pasted', { count });
      case 'move':
      case 'resize':
      case 'place': {
        if (count === 0) {
          return undefined;
        }
        if (isSame) {
          return t('editor.said.unmoved');
        }
        const isMoved = action.type === 'move';
        if (count > 1) {
          return t(
            isMoved ? 'editor.said.movedMany' : 'editor.said.resizedMany',
            { count },
          );
        }
        const { x, y, w, h } = boxOf(selected[0]);
        return isMoved
          ? t('editor.said.moved', { x: String(x + 1), y: String(y + 1) })
          : t('editor.said.resized', { w: String(w), h: String(h) });
      }
      case 'remove': {
        const removed = selectedItems(before).length;
        return removed > 0
          ? t('editor.said.removed', { count: removed })
          : undefined;
      }
      case 'open':
        return container
          ? t('editor.said.opened', { item: titleOf(container) })
          : t('editor.said.openedPage');
      case 'moveInto':
      case 'moveOut': {
        if (isSame) {
          return tooDeep;
        }
        const moved = selectedItems(before).length;
        return t(`editor.said.${action.type}`, { count: moved });
      }
      case 'selectAll':
        return t('editor.said.selected', { count });
      case 'toggle':
        return t('editor.said.selected', { count });
      case 'undo':
        return t(isSame ? 'editor.said.nothingToUndo' : 'editor.said.undone');
      case 'redo':
        return t(isSame ? 'editor.said.nothingToRedo' : 'editor.said.redone');
      default:
        return undefined;
    }
  };
}
