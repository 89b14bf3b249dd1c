import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonIcon, Text, TextField } from '@backstage/ui';
import { RiDeleteBinLine } from '@remixicon/react';
import { type FormEvent, useState } from 'react';
import { tenantsTranslationRef } from '../../translation';
import type { ConfiguredLocation } from './configText';
import styles from './sources.module.css';

/** The locations of a configuration, which somebody edits. */
export function LocationsForm(props: {
  locations: ConfiguredLocation[];
  /** What the backend says of one of them. */
  error?: { index: number; message: string };
  isReadOnly: boolean;
  /** Whether something is typed that is not added yet. */
  onTyping: (isTyping: boolean) => void;
  onAdd: (location: { target: string; kinds: string[] }) => void;
  onRemove: (index: number) => void;
}) {
  const { locations, error, isReadOnly, onTyping, onAdd, onRemove } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <>
      {locations.length === 0 ? (
        <Text as="p" color="secondary">
          {t('sources.locations.none')}
        </Text>
      ) : (
        <ul className={styles.list}>
          {locations.map(({ target, kinds }, index) => (
            <li key={`${index} ${target}`}>
              <div className={styles.target}>
                <Text as="span">{target}</Text>
                {kinds.length > 0 && (
                  <Text as="span" variant="body-small" color="secondary">
                    {t('sources.locations.kinds', { kinds: kinds.join(', ') })}
                  </Text>
                )}
                {error?.index === index && (
                  <Text as="span" variant="body-small" color="danger">
                    {error.message}
                  </Text>
                )}
              </div>
              {!isReadOnly && (
                <ButtonIcon
                  variant="tertiary"
                  icon={<RiDeleteBinLine />}
                  aria-label={t('sources.locations.remove', { target })}
                  onPress={() => onRemove(index)}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      {!isReadOnly && <AddLocation {...{ locations, onTyping, onAdd }} />}
    </>
  );
}

function AddLocation(props: {
  locations: ConfiguredLocation[];
  onTyping: (isTyping: boolean) => void;
  onAdd: (location: { target: string; kinds: string[] }) => void;
}) {
  const { locations, onTyping, onAdd } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [target, setTarget] = useState('');
  const [kinds, setKinds] = useState('');
  const [problem, setProblem] = useState<string>();

  const submit = (event: FormEvent) => {
    event.preventDefault();
    const url = target.trim();
    if (!url) {
      setProblem(t('sources.locations.targetMissing'));
    } else if (locations.some(location => location.target === url)) {
      setProblem(t('sources.locations.targetTaken'));
    } else {
      onAdd({ target: url, kinds: kinds.split(/[\s,]+/).filter(Boolean) });
      setTarget('');
      setKinds('');
      onTyping(false);
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
        onChange={value => {
          setTarget(value);
          setProblem(undefined);
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
        onChange={setKinds}
      />
      <Button type="submit" variant="secondary" size="medium">
        {t('sources.locations.submit')}
      </Button>
    </form>
  );
}
