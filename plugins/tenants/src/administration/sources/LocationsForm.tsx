import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { ButtonIcon, Text } from '@backstage/ui';
import { RiDeleteBinLine } from '@remixicon/react';
import { EmptyState, keepFocus } from '@internal/pages';
import type { SourceError } from 'backstage-plugin-tenants-common';
import { tenantsTranslationRef } from '../../translation';
import { AddLocation, type OnAdd } from './AddLocation';
import type { ConfiguredLocation } from './configText';
import { SourceErrors } from './SourceErrors';
import styles from './sources.module.css';

/** A form for the locations of a configuration. */
export function LocationsForm(props: {
  slug: string;
  locations: ConfiguredLocation[];
  /** Why the backend did not save one of them. */
  refusal?: { index: number; message: string };
  /** What is wrong with those that were saved. */
  errors: SourceError[];
  /** Whether something is typed that is not added yet. */
  onTyping: (isTyping: boolean) => void;
  onAdd: OnAdd;
  onRemove: (index: number) => void;
}) {
  const { slug, locations, refusal, errors } = props;
  const { onTyping, onAdd, onRemove } = props;
  const { t } = useTranslationRef(tenantsTranslationRef);
  return (
    <>
      {locations.length === 0 ? (
        <EmptyState text={t('sources.locations.none')} />
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
                {refusal?.index === index && (
                  <Text as="span" variant="body-small" color="danger">
                    {refusal.message}
                  </Text>
                )}
                <SourceErrors
                  slug={slug}
                  errors={errors.filter(({ location }) => location === target)}
                />
              </div>
              <ButtonIcon
                variant="tertiary"
                icon={<RiDeleteBinLine />}
                aria-label={t('sources.locations.remove', { target })}
                onPress={event => {
                  keepFocus(event);
                  onRemove(index);
                }}
              />
            </li>
          ))}
        </ul>
      )}
      <AddLocation {...{ slug, locations, onTyping, onAdd }} />
    </>
  );
}
