import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Text } from '@backstage/ui';
import {
  Moment,
  useFailureText,
  useFocusPassedOn,
  useTask,
} from '@internal/pages';
import type { SourceError } from 'backstage-plugin-tenants-common';
import { useState } from 'react';
import { tenantsTranslationRef } from '../../translation';
import styles from './sources.module.css';
import { useCatalogOf } from './useCatalogOf';

interface SourceErrorsProps {
  slug: string;
  errors: SourceError[];
  /** Whether to say which location each is from. */
  withLocation?: boolean;
}

/** What is wrong with a location or with entities of it, and when it is tried again. */
export function SourceErrors(props: SourceErrorsProps) {
  return props.errors.length > 0 ? <Errors {...props} /> : null;
}

function Errors(props: SourceErrorsProps) {
  const { slug, errors, withLocation } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  const catalog = useCatalogOf(slug);
  const textOf = useFailureText();
  const [isDone, setDone] = useState(false);
  const { isPending, failure, run } = useTask();
  // The button goes with what it has mended.
  const room = useFocusPassedOn<HTMLDivElement>();

  const tryNow = () =>
    run('', async () => {
      setDone(false);
      for (const { entity_ref } of errors) {
        await catalog.refresh(entity_ref);
      }
      setDone(true);
    });

  return (
    <div ref={room} className={styles.errors}>
      <ul>
        {errors.map(({ entity_ref, location, message, next_try_at }) => (
          <li key={entity_ref}>
            <Text as="p" variant="body-small" color="danger">
              {message}
            </Text>
            <Text as="p" variant="body-small" color="secondary">
              {withLocation && `${location} · `}
              {!entity_ref.startsWith('location:') && `${entity_ref} · `}
              {t('sources.errors.next')} <Moment at={next_try_at} />
            </Text>
          </li>
        ))}
      </ul>
      <Button
        size="small"
        variant="secondary"
        isPending={isPending}
        onPress={tryNow}
      >
        {t('sources.errors.tryNow')}
      </Button>
      <span role="status">
        <Text variant="body-small" color="secondary">
          {isDone && t('sources.errors.trying')}
          {failure &&
            t('sources.errors.notTried', { message: textOf(failure.error) })}
        </Text>
      </span>
    </div>
  );
}
