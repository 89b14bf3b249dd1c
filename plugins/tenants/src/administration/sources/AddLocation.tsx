import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Alert, Button, TextField } from '@backstage/ui';
import { messageOf, statusOf } from '@internal/pages';
import { type FormEvent, useState } from 'react';
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
  const url = target.trim();
  const allowed = kinds.split(/[\s,]+/).filter(Boolean);

  const add = (entities?: number) => {
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
    setTrying(true);
    setFailure(undefined);
    try {
      add(await catalog.tryOut(url));
    } catch (error) {
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
      setTrying(false);
    }
  };

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
      {failure !== undefined && (
        <Alert
          role="alert"
          className={styles.failedTry}
          status={statusOf(failure) === 400 ? 'danger' : 'warning'}
          icon
          title={t(
            statusOf(failure) === 400
              ? 'sources.locations.bad'
              : 'sources.locations.notTried',
          )}
          description={messageOf(failure)}
          customActions={
            <Button size="small" variant="secondary" onPress={() => add()}>
              {t('sources.locations.addAnyway')}
            </Button>
          }
        />
      )}
    </form>
  );
}
