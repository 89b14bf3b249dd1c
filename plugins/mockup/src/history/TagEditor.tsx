import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonIcon, TextField } from '@backstage/ui';
import { RiPriceTag3Line } from '@remixicon/react';
import { Alert, Failure, pagesTranslationRef, statusOf } from '@internal/pages';
import { MOCKUP_LIMITS, type Version } from 'backstage-plugin-mockup-common';
import {
  type FormEvent,
  type KeyboardEvent,
  useEffect,
  useRef,
  useState,
} from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';
import type { ReadMockup } from './HistoryFrame';
import styles from './history.module.css';
import { useVersionTitle } from './useVersionTitle';

interface Edit {
  version: Version;
  read: ReadMockup;
  /** What the version and the mockup are then. */
  onSaved: (version: Version, read: ReadMockup) => void;
  /** After somebody else has saved: what the mockup is now. */
  onConflict: (read: ReadMockup) => void;
}

/** Renames or removes the tag of a version, where it stands. What was typed outlives a failure. */
export function TagEditor(props: Edit) {
  const { version, onSaved } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const titleOf = useVersionTitle();
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const takesFocus = useRef(false);
  useEffect(() => {
    if (!isOpen && takesFocus.current) {
      takesFocus.current = false;
      button.current?.focus();
    }
  }, [isOpen]);

  const close = () => {
    takesFocus.current = true;
    setOpen(false);
  };
  return isOpen ? (
    <TagForm
      {...props}
      onClose={close}
      onSaved={(...saved) => {
        close();
        onSaved(...saved);
      }}
    />
  ) : (
    <ButtonIcon
      ref={button}
      size="small"
      variant="tertiary"
      icon={<RiPriceTag3Line />}
      aria-label={t('history.tag.open', { title: titleOf(version) })}
      onPress={() => setOpen(true)}
    />
  );
}

function TagForm(props: Edit & { onClose: () => void }) {
  const { version, read, onSaved, onConflict, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { t: tPages } = useTranslationRef(pagesTranslationRef);
  const api = useApi(mockupApiRef);
  const form = useRef<HTMLFormElement>(null);
  const [text, setText] = useState(version.versionTag ?? '');
  const [isPending, setPending] = useState(false);
  const [error, setError] = useState<unknown>();
  const [hasConflict, setConflict] = useState(false);
  const isTooLong = [...text].length > MOCKUP_LIMITS.versionTag;

  useEffect(() => {
    const field = form.current?.querySelector('input');
    field?.focus();
    field?.select();
  }, []);

  async function save(tag: string) {
    if (isPending || [...tag].length > MOCKUP_LIMITS.versionTag) {
      return;
    }
    setPending(true);
    setError(undefined);
    setConflict(false);
    try {
      const saved = await api.updateVersion(
        version.mockupId,
        version.id,
        { versionTag: tag.trim() || null },
        { ifMatch: read.etag },
      );
      const { latestVersion } = read.mockup;
      const isNewest = latestVersion?.id === version.id;
      onSaved(saved.version, {
        mockup: {
          ...read.mockup,
          latestVersion: isNewest ? saved.version : latestVersion,
        },
        etag: saved.etag,
      });
    } catch (thrown) {
      setPending(false);
      if (statusOf(thrown) !== 412) {
        setError(thrown);
        return;
      }
      try {
        const readAgain = await api.getMockup(version.mockupId);
        if (readAgain) {
          onConflict(readAgain);
        }
        setConflict(true);
      } catch (another) {
        setError(another);
      }
    }
  }

  return (
    // Escape in any of its fields and buttons.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <form
      ref={form}
      className={styles.tagForm}
      noValidate
      onSubmit={(event: FormEvent) => {
        event.preventDefault();
        save(text);
      }}
      onKeyDown={(event: KeyboardEvent) => {
        if (event.key === 'Escape' && !isPending) {
          onClose();
        }
      }}
    >
      <TextField
        label={t('history.tag.label')}
        value={text}
        onChange={setText}
        isInvalid={isTooLong}
        description={
          isTooLong
            ? t('history.tag.tooLong', {
                most: String(MOCKUP_LIMITS.versionTag),
              })
            : undefined
        }
        autoComplete="off"
      />
      <div className={styles.buttons}>
        <Button
          size="small"
          variant="secondary"
          isDisabled={isPending}
          onPress={onClose}
        >
          {tPages('cancel')}
        </Button>
        {version.versionTag && (
          <Button
            size="small"
            variant="secondary"
            isDisabled={isPending}
            onPress={() => save('')}
          >
            {t('history.tag.remove')}
          </Button>
        )}
        <Button size="small" type="submit" isPending={isPending}>
          {t('history.tag.save')}
        </Button>
      </div>
      {hasConflict && (
        <Alert
          role="alert"
          status="warning"
          icon
          title={t('history.tag.failed')}
          description={t('history.tag.conflict')}
        />
      )}
      {error !== undefined && (
        <Failure title={t('history.tag.failed')} error={error} />
      )}
    </form>
  );
}
