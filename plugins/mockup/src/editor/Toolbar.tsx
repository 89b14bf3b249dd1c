import { useTranslationRef } from '@backstage/frontend-plugin-api';
import {
  ButtonIcon,
  Dialog,
  DialogBody,
  DialogHeader,
  ToggleButton,
  ToggleButtonGroup,
  Tooltip,
  TooltipTrigger,
} from '@backstage/ui';
import {
  RiArrowGoBackLine,
  RiArrowGoForwardLine,
  RiClipboardLine,
  RiDeleteBinLine,
  RiFileCopyLine,
  RiKeyboardLine,
  RiScissorsLine,
} from '@remixicon/react';
import { keepFocus } from '@internal/pages';
import type { Dispatch, ReactElement, ReactNode } from 'react';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import { focusByArrows } from './focusByArrows';
import type { EditorAction, EditorState } from './model/editorReducer';

/** Widths of the previews, in pixels; nothing where it is the width of the page. */
export const PREVIEW_WIDTHS = {
  phone: 390,
  tablet: 820,
  desktop: undefined,
} as const;

const VIEWS = ['edit', 'phone', 'tablet', 'desktop', 'json'] as const;

/** How the mockup is shown. */
export type View = (typeof VIEWS)[number];

/** What can be done with a pointer or finger; the keyboard has keys for the same. */
export function Toolbar(props: {
  state: EditorState;
  dispatch: Dispatch<EditorAction>;
  isReadOnly: boolean;
  view: View;
  onView: (view: View) => void;
  canPaste: boolean;
  onCopy: () => void;
  onCut: () => void;
  onPaste: () => void;
  showsKeys: boolean;
  onShowKeys: (shows: boolean) => void;
  /** At the end, where the eye looks for what is to be done last. */
  children: ReactNode;
}) {
  const { state, dispatch, isReadOnly, view, onView } = props;
  const { showsKeys, onShowKeys, children } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const isNone = state.selection.size === 0 || view !== 'edit';
  return (
    <div className={styles.toolbar}>
      <ToggleButtonGroup
        aria-label={t('editor.views.label')}
        selectionMode="single"
        disallowEmptySelection
        selectedKeys={[view]}
        onSelectionChange={keys => {
          const next = VIEWS.find(each => keys.has(each));
          if (next) {
            onView(next);
          }
        }}
      >
        {VIEWS.map(each => (
          <ToggleButton key={each} id={each}>
            {t(`editor.views.${each}`)}
          </ToggleButton>
        ))}
      </ToggleButtonGroup>
      <div
        role="toolbar"
        aria-label={t('editor.toolbar.label')}
        className={styles.tools}
        onKeyDown={focusByArrows}
      >
        {!isReadOnly && (
          <>
            <Tool
              label={t('editor.toolbar.undo')}
              icon={<RiArrowGoBackLine />}
              isDisabled={state.past.length === 0}
              onPress={() => dispatch({ type: 'undo' })}
            />
            <Tool
              label={t('editor.toolbar.redo')}
              icon={<RiArrowGoForwardLine />}
              isDisabled={state.future.length === 0}
              onPress={() => dispatch({ type: 'redo' })}
            />
            <Tool
              label={t('editor.toolbar.cut')}
              icon={<RiScissorsLine />}
              isDisabled={isNone}
              onPress={props.onCut}
            />
          </>
        )}
        <Tool
          label={t('editor.toolbar.copy')}
          icon={<RiFileCopyLine />}
          isDisabled={isNone}
          onPress={props.onCopy}
        />
        {!isReadOnly && (
          <>
            <Tool
              label={t('editor.toolbar.paste')}
              icon={<RiClipboardLine />}
              isDisabled={!props.canPaste || view !== 'edit'}
              onPress={props.onPaste}
            />
            <Tool
              label={t('editor.toolbar.remove')}
              icon={<RiDeleteBinLine />}
              isDisabled={isNone}
              onPress={() => dispatch({ type: 'remove' })}
            />
          </>
        )}
        <Tool
          label={t('editor.toolbar.keyboard')}
          icon={<RiKeyboardLine />}
          onPress={() => onShowKeys(true)}
        />
      </div>
      {children}
      <KeysDialog isOpen={showsKeys} onOpenChange={onShowKeys} />
    </div>
  );
}

/** A button that is an icon, and says what it does. */
export function Tool(props: {
  label: string;
  icon: ReactElement;
  variant?: 'secondary';
  isDisabled?: boolean;
  onPress: () => void;
}) {
  const { label, icon, variant = 'tertiary', isDisabled, onPress } = props;
  return (
    <TooltipTrigger>
      <ButtonIcon
        variant={variant}
        aria-label={label}
        icon={icon}
        isDisabled={isDisabled}
        onPress={event => {
          onPress();
          keepFocus(event);
        }}
      />
      <Tooltip>{label}</Tooltip>
    </TooltipTrigger>
  );
}

const KEYS = [
  ['← → ↑ ↓', 'arrows'],
  ['Shift + ← → ↑ ↓', 'shiftArrows'],
  ['Ctrl + ← → ↑ ↓', 'ctrlArrows'],
  ['Home, End', 'homeEnd'],
  ['Space', 'space'],
  ['Enter', 'enter'],
  ['Ctrl + Enter', 'ctrlEnter'],
  ['Esc', 'escape'],
  ['Delete', 'delete'],
  ['Ctrl + A', 'all'],
  ['Ctrl + C, X, V', 'copy'],
  ['Ctrl + Z, Ctrl + Shift + Z', 'undo'],
  ['Ctrl + S', 'save'],
  ['?', 'help'],
] as const;

function KeysDialog(props: {
  isOpen: boolean;
  onOpenChange: (isOpen: boolean) => void;
}) {
  const { t } = useTranslationRef(mockupTranslationRef);
  return (
    <Dialog {...props} width="min(560px, calc(100vw - 32px))">
      <DialogHeader>{t('editor.keys.title')}</DialogHeader>
      <DialogBody>
        <dl className={styles.keys}>
          {KEYS.map(([keys, text]) => (
            <div key={text}>
              <dt>
                <kbd>{keys}</kbd>
              </dt>
              <dd>{t(`editor.keys.${text}`)}</dd>
            </div>
          ))}
        </dl>
        <p>{t('editor.keys.mouse')}</p>
      </DialogBody>
    </Dialog>
  );
}
