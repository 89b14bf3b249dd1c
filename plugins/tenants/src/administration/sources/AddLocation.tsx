import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Text, TextField } from '@backstage/ui';
import {
  Alert,
  keepFocus,
  messageOf,
  statusOf,
  useFailureText,
  useIsSlow,
} from '@internal/pages';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { tenantsTranslationRef } from '../../translation';
import type { ConfiguredLocation } from './configText';
import styles from './sources.module.css';
import { useCatalogOf } from './useCatalogOf';

/** Called with what is typed, and how many entities it has where it could be tried. */
export type OnAdd = (
  location: { target: string; kinds: string[] },
  entities?: number,
) => void;

/** A form for one more location, which is read once before it is added. */
export function AddLocation(props: {
  slug: string;
  locations: ConfiguredLocation[];
  onTyping: (isTyping: boolean) => void;
  onAdd: OnAdd;
}) {
  const { slug, locations, onTyping, onAdd } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const catalog = useCatalogOf(slug);
  const [target, setTarget] = useState('');
  const [kinds, setKinds] = useState('');
  const [problem, setProblem] = useState<string>();
  const [failure, setFailure] = useState<unknown>();
  const [isTrying, setTrying] = useState(false);
  const isSlow = useIsSlow(isTrying);
  const textOf = useFailureText();
  const current = useRef<symbol>();
  useEffect(
    () => () => {
      current.current = undefined;
    },
    [],
  );
  const url = target.trim();
  const allowed = kinds.split(/[\s,]+/).filter(Boolean);

  const add = (entities?: number) => {
    // What is tried out by now is not waited for any more.
    current.current = undefined;
    setTrying(false);
    onAdd({ target: url, kinds: allowed }, entities);
    setTarget('');
    setKinds('');
    setFailure(undefined);
    onTyping(false);
  };

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (isTrying) {
      return;
    }
    if (!url) {
      setProblem(t('sources.locations.targetMissing'));
      return;
    }
    if (locations.some(location => location.target === url)) {
      setProblem(t('sources.locations.targetTaken'));
      return;
    }
    const own = Symbol('try');
    current.current = own;
    const isCurrent = () => current.current === own;
    setTrying(true);
    setFailure(undefined);
    try {
      const entities = await catalog.tryOut(url);
      if (isCurrent()) {
        add(entities);
      }
    } catch (error) {
      if (!isCurrent()) {
        return;
      }
      // The rule that allows these kinds is not saved yet.
      if (
        allowed.length > 0 &&
        /not of an allowed kind/.test(messageOf(error))
      ) {
        add();
      } else {
        setFailure(error);
      }
    } finally {
      if (isCurrent()) {
        setTrying(false);
      }
    }
  };

  const addAnyway = (
    <Button
      size="small"
      variant="secondary"
      onPress={event => {
        keepFocus(event);
        add();
      }}
    >
      {t('sources.locations.addAnyway')}
    </Button>
  );
  return (
    <form
      className={styles.add}
      aria-label={t('sources.locations.add')}
      onSubmit={submit}
      noValidate
    >
      <TextField
        size="medium"
        label={t('sources.locations.target')}
        description={t('sources.locations.targetDescription')}
        placeholder="https://…/catalog-info.yaml"
        type="url"
        value={target}
        isReadOnly={isTrying}
        onChange={value => {
          setTarget(value);
          setProblem(undefined);
          setFailure(undefined);
          onTyping(value.trim() !== '');
        }}
        validationBehavior="aria"
        validate={() => problem ?? null}
      />
      <TextField
        size="medium"
        label={t('sources.locations.allow')}
        description={t('sources.locations.allowDescription')}
        value={kinds}
        isReadOnly={isTrying}
        onChange={setKinds}
      />
      <Button
        type="submit"
        variant="secondary"
        size="medium"
        isPending={isTrying}
      >
        {t('sources.locations.submit')}
      </Button>
      <div role="status" className={styles.tried}>
        {isTrying && !isSlow && (
          <Text color="secondary">{t('sources.locations.trying')}</Text>
        )}
      </div>
      {isSlow && (
        <Alert
          role="status"
          className={styles.tried}
          status="info"
          icon
          title={t('sources.locations.slow')}
          description={t('sources.locations.slowText')}
          customActions={addAnyway}
        />
      )}
      {failure !== undefined && (
        <Alert
          role="alert"
          className={styles.tried}
          status={statusOf(failure) === 400 ? 'danger' : 'warning'}
          icon
          title={t(
            statusOf(failure) === 400
              ? 'sources.locations.bad'
              : 'sources.locations.notTried',
          )}
          description={textOf(failure)}
          customActions={addAnyway}
        />
      )}
    </form>
  );
}
