import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, VisuallyHidden } from '@backstage/ui';
import { Alert, Failure, LeaveDialog } from '@internal/pages';
import {
  allItems,
  isEqualJson,
  type LayoutItem,
} from 'backstage-plugin-mockup-common';
import {
  type ComponentProps,
  useCallback,
  useMemo,
  useRef,
  useState,
} from 'react';
import { readingOrder } from '../components/grid';
import {
  type MockupComponent,
  mockupComponentsApiRef,
} from '../components/registry/MockupComponentBlueprint';
import { useWords } from '../history/difference/useWords';
import { PageDataProvider } from '../components/live/PageData';
import { mockupTranslationRef } from '../translation';
import { Canvas, type FocusRequest } from './canvas/Canvas';
import styles from './editor.module.css';
import { EditorHeader } from './EditorHeader';
import { focusFirst, Inspector } from './inspector/Inspector';
import { JsonView } from './JsonView';
import { Levels } from './Levels';
import {
  fromClipboardText,
  newId,
  pasted,
  toClipboardText,
} from './model/clipboard';
import type { Saved } from './model/content';
import { levelItems, selectedItems } from './model/editorReducer';
import { bottomOf } from './model/grid';
import { containersTo, itemsAt, type Level } from './model/levels';
import { Palette } from './Palette';
import { PhoneOrder } from './PhoneOrder';
import { Preview } from './Preview';
import { PublishButton } from '../pages/PublishButton';
import { OtherEditors } from '../review/OtherEditors';
import { ConflictDialog } from './saving/ConflictDialog';
import { CopyDialog } from './saving/CopyDialog';
import { DraftDialog, type OpenedDraft } from './saving/DraftDialog';
import type { DraftStore } from './saving/drafts';
import { SaveState } from './saving/SaveState';
import { useDraft } from './saving/useDraft';
import { useSaving, type VersionNote } from './saving/useSaving';
import { Toolbar, type View } from './Toolbar';
import { useEditor } from './useEditor';
import { isEditable, usePageKeys } from './usePageKeys';

/** The last items that were copied, for the buttons: a page may not read the clipboard by itself. */
let copiedItems: LayoutItem[] = [];

/** Edits one mockup. */
export function Editor(props: {
  mockupId: string;
  opened: Saved;
  /** What was not saved at earlier visits. */
  offered: OpenedDraft[];
  drafts: DraftStore;
  isReadOnly: boolean;
}) {
  const { mockupId, opened, drafts, isReadOnly } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const components = useApi(mockupComponentsApiRef).list();
  const { nameOfItem } = useWords();
  const { state, dispatch, said, announce } = useEditor(
    () => opened.content,
    nameOfItem,
  );
  const [view, setView] = useState<View>('edit');
  const [offered, setOffered] = useState(props.offered);
  const [typedJson, setTypedJson] = useState<string>();
  const [isCopying, setCopying] = useState(false);
  const [isCopied, setCopied] = useState(false);
  const [showsKeys, setShowsKeys] = useState(false);
  const [dragged, setDragged] = useState<LayoutItem>();
  const [focusRequest, setFocusRequest] = useState<FocusRequest>();
  const inspector = useRef<HTMLElement>(null);
  const saving = useSaving(mockupId, opened);
  const { saved, conflict } = saving;
  const { content, level, selection } = state;
  const items = levelItems(state);
  const takenIds = () =>
    new Set(allItems(content.items).map(({ item }) => item.i));

  const isChanged = useMemo(
    () => !isEqualJson(content, saved.content),
    [content, saved],
  );
  const draft = offered.at(0);
  const { isKept: isDrafted, goOnWith } = useDraft({
    drafts,
    mockupId,
    content,
    saved,
    isChanged,
    // What is offered stays until it is decided on.
    isPaused: draft !== undefined || isCopied,
  });

  // What is typed is in no draft.
  const isKept = typedJson === undefined && isDrafted;

  const itemOf = (component: MockupComponent): LayoutItem => ({
    i: newId(component.name, takenIds()),
    x: 0,
    y: bottomOf(items),
    ...component.defaultSize,
    component: component.name,
    props: component.defaultProps,
  });
  /** @param into - the container that takes them in, if it is one beside them */
  const add = (added: LayoutItem[], into?: string) => {
    dispatch({ type: 'add', items: added, into });
    setFocusRequest({ id: into ?? added[0].i });
  };
  /** Goes into a container, or out to where the one is that is left. */
  const enter = (next: Level) => {
    dispatch({ type: 'open', level: next });
    const left = containersTo(content.items, level).map(({ i }) => i);
    const there = readingOrder(itemsAt(content.items, next));
    setFocusRequest({
      id: (there.find(({ i }) => left.includes(i)) ?? there[0])?.i,
    });
  };
  const openProperties = useCallback(() => {
    // They are drawn once the selection is.
    requestAnimationFrame(() => focusFirst(inspector.current));
  }, []);

  const copy = (): LayoutItem[] => {
    const selected = selectedItems(state);
    if (selected.length > 0) {
      copiedItems = selected;
      announce(t('editor.said.copied', { count: selected.length }));
    }
    return selected;
  };
  const paste = (copied: LayoutItem[] | undefined) => {
    if (!copied || copied.length === 0) {
      announce(t('editor.said.nothingToPaste'));
      return;
    }
    const selected = selectedItems(state);
    const row = bottomOf(selected.length > 0 ? selected : items);
    add(pasted(copied, row, takenIds()));
  };
  const cut = () => {
    copy();
    dispatch({ type: 'remove' });
  };
  const onCopy = (event: ClipboardEvent) => {
    const isText = document.getSelection()?.type === 'Range';
    if (
      isEditable(event.target) ||
      isText ||
      selection.size === 0 ||
      view !== 'edit'
    ) {
      return;
    }
    event.preventDefault();
    event.clipboardData?.setData('text/plain', toClipboardText(copy()));
    if (event.type === 'cut' && !isReadOnly) {
      dispatch({ type: 'remove' });
    }
  };
  const onPaste = (event: ClipboardEvent) => {
    if (isEditable(event.target) || isReadOnly || view !== 'edit') {
      return;
    }
    event.preventDefault();
    paste(fromClipboardText(event.clipboardData?.getData('text/plain') ?? ''));
  };

  /** @returns whether it is saved */
  const save = async (note?: VersionNote, over?: Saved): Promise<boolean> => {
    const isSaved = await saving.save(content, note, over);
    if (isSaved) {
      announce(t('editor.said.saved'));
    }
    return isSaved;
  };
  const failure = (
    more: Pick<ComponentProps<typeof Failure>, 'action' | 'onRetry'> = {},
  ) =>
    saving.failure && (
      <Failure
        title={t('editor.save.failed')}
        error={saving.failure.error}
        text={saving.failure.isGone ? t('editor.save.gone') : undefined}
        isOfAction
        isRetrying={saving.isPending}
        {...more}
      />
    );
  const onKeyDown = (event: KeyboardEvent) => {
    // By its place on keyboards with other letters, such as Cyrillic or Hebrew ones.
    const named = event.key > '~' ? event.code.replace(/^Key/, '') : event.key;
    const key = named.toLowerCase();
    if (event.key === '?' && !isEditable(event.target)) {
      setShowsKeys(true);
    }
    if (!(event.ctrlKey || event.metaKey) || event.altKey) {
      return;
    }
    if (key === 's') {
      event.preventDefault();
      if (!isReadOnly) {
        save();
      }
      return;
    }
    if (isEditable(event.target) || isReadOnly) {
      return;
    }
    if (key === 'z' || key === 'y') {
      dispatch({ type: key === 'y' || event.shiftKey ? 'redo' : 'undo' });
    } else if (key === 'a' && view === 'edit') {
      dispatch({ type: 'selectAll' });
    } else {
      return;
    }
    event.preventDefault();
  };
  usePageKeys({ onKeyDown, onCopy, onPaste });

  return (
    <div className={styles.editor}>
      <EditorHeader
        mockupId={mockupId}
        content={content}
        isReadOnly={isReadOnly}
        dispatch={dispatch}
        isSaving={saving.isPending}
        unsavedNote={saving.unsavedNote}
        onSave={save}
        onSaveCopy={() => setCopying(true)}
        onShared={change => {
          saving.followShared(change);
          announce(t('sharing.saved', { name: content.name }));
        }}
      >
        {(!isReadOnly || saved.versionId !== undefined) && (
          <PublishButton
            mockup={{ id: mockupId, name: content.name }}
            versionId={saved.versionId}
            onOpen={async () =>
              isReadOnly ||
              (!isChanged && saved.versionId !== undefined) ||
              (await save())
            }
            onSaid={announce}
          />
        )}
      </EditorHeader>
      <Flex direction="column" gap="2" px="5">
        {!isReadOnly && <OtherEditors mockupId={mockupId} />}
        {isReadOnly && (
          <Alert
            status="info"
            icon
            title={t('editor.readOnly.title')}
            description={t('editor.readOnly.text')}
          />
        )}
        {!conflict &&
          failure({
            action: (
              <Button
                size="small"
                variant="secondary"
                onPress={() => setCopying(true)}
              >
                {t('editor.toolbar.saveCopy')}
              </Button>
            ),
            onRetry: () => save(),
          })}
      </Flex>
      <Toolbar
        state={state}
        dispatch={dispatch}
        isReadOnly={isReadOnly}
        view={view}
        onView={setView}
        canPaste={copiedItems.length > 0}
        onCopy={copy}
        onCut={cut}
        onPaste={() => paste(copiedItems)}
        showsKeys={showsKeys}
        onShowKeys={setShowsKeys}
      >
        {!isReadOnly && (
          <SaveState
            saved={saved}
            isChanged={isChanged || typedJson !== undefined}
            isDrafted={typedJson === undefined ? isDrafted : undefined}
            isPending={saving.isPending}
            onSave={() => save()}
          />
        )}
      </Toolbar>
      {view === 'edit' && (
        <div
          className={
            isReadOnly ? `${styles.work} ${styles.viewed}` : styles.work
          }
        >
          {!isReadOnly && (
            <Palette
              components={components}
              onAdd={component => add([itemOf(component)])}
              onDrag={component => setDragged(component && itemOf(component))}
            />
          )}
          <PageDataProvider>
            <div className={styles.middle}>
              <Levels
                containers={containersTo(content.items, level)}
                onOpen={enter}
              />
              <Canvas
                state={state}
                dispatch={dispatch}
                isReadOnly={isReadOnly}
                dragged={dragged}
                onDrop={(item, into) => {
                  setDragged(undefined);
                  add([item], into);
                }}
                onOpen={openProperties}
                onEnter={({ i }) => enter(i)}
                onLeave={() => {
                  if (level !== undefined) {
                    enter(containersTo(content.items, level).at(-2)?.i);
                  }
                }}
                focusRequest={focusRequest}
              />
            </div>
          </PageDataProvider>
          <Inspector
            ref={inspector}
            state={state}
            dispatch={dispatch}
            isReadOnly={isReadOnly}
            onEnter={enter}
            onClose={id => setFocusRequest({ id })}
          />
        </div>
      )}
      {view === 'json' && (
        <JsonView
          items={content.items}
          typed={typedJson}
          onType={setTypedJson}
          isReadOnly={isReadOnly}
          onApply={next => {
            dispatch({ type: 'replace', content: { ...content, items: next } });
            announce(t('editor.said.applied'));
          }}
        />
      )}
      {view !== 'edit' && view !== 'json' && (
        <Preview items={content.items} view={view}>
          {view === 'phone' && !isReadOnly && (
            <PhoneOrder
              items={content.items}
              onSaid={announce}
              onChange={next =>
                dispatch({
                  type: 'replace',
                  content: { ...content, items: next },
                })
              }
            />
          )}
        </Preview>
      )}
      {draft && (
        <DraftDialog
          key={draft.id}
          draft={draft}
          saved={saved}
          onUse={() => {
            goOnWith(draft);
            saving.startFrom(draft.base);
            dispatch({ type: 'replace', content: draft.content });
            // Others are offered at the next visit.
            setOffered([]);
            announce(t('editor.draft.used'));
          }}
          onDiscard={() => {
            drafts.remove(mockupId, draft.id).catch(() => {});
            dispatch({ type: 'replace', content: draft.content });
            dispatch({ type: 'replace', content: saved.content });
            setOffered(offered.slice(1));
            announce(t('editor.draft.discarded'));
          }}
          onOther={
            offered.length > 1
              ? () => setOffered([...offered.slice(1), draft])
              : undefined
          }
        />
      )}
      {conflict && (
        <ConflictDialog
          base={saved.content}
          mine={content}
          theirs={conflict}
          isPending={saving.isPending}
          failure={failure()}
          onTakeTheirs={() => {
            saving.startFrom(conflict);
            dispatch({ type: 'replace', content: conflict.content });
            announce(t('editor.conflict.tookTheirs'));
          }}
          onSaveMine={() => save(saving.unsavedNote, conflict)}
          onMerge={result => {
            saving.startFrom(conflict, saving.unsavedNote);
            dispatch({ type: 'replace', content: result });
            announce(t('editor.merge.applied'));
          }}
          onLater={saving.forgetConflict}
        />
      )}
      {isCopying && (
        <CopyDialog
          content={content}
          onSaved={() => setCopied(true)}
          onClose={() => setCopying(false)}
        />
      )}
      <LeaveDialog
        isChanged={(isChanged && !isCopied) || typedJson !== undefined}
        texts={[
          t('editor.leave.text'),
          ...(isKept === undefined
            ? []
            : [t(isKept ? 'editor.leave.drafted' : 'editor.leave.undrafted')]),
        ]}
        destructive={!isKept}
      />
      <VisuallyHidden>
        <p id="mockup-canvas-help">{t('editor.canvas.help')}</p>
        <div role="status" aria-live="polite">
          {/* Said again where the same is done twice. */}
          <span key={said.count}>{said.text}</span>
        </div>
      </VisuallyHidden>
    </div>
  );
}
