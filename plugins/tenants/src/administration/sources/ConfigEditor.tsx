import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text, TextAreaField } from '@backstage/ui';
import {
  Alert,
  Failure,
  LeaveDialog,
  messageOf,
  statusOf,
  useFocusPassedOn,
  useIsSlow,
  useTask,
} from '@internal/pages';
import type {
  ReadCatalogConfig,
  SourceError,
} from 'backstage-plugin-tenants-common';
import { type ReactNode, type SetStateAction, useState } from 'react';
import { tenantsApiRef } from '../../api';
import { tenantsTranslationRef } from '../../translation';
import { Part } from '../Part';
import {
  addLocation,
  locationIn,
  locationsOf,
  parseText,
  removeLocation,
  toText,
} from './configText';
import { Conflict } from './Conflict';
import { LocationsForm } from './LocationsForm';
import styles from './sources.module.css';

const FEWEST_ROWS = 8;
const MOST_ROWS = 30;

/**
 * Edits the configuration of a tenant's engine: its locations by a form, and all of it as YAML.
 * Both edit one text, which is saved as a whole.
 */
export function ConfigEditor(props: {
  slug: string;
  /** What the backend has. A newer one does not undo what was typed meanwhile. */
  config: ReadCatalogConfig;
  /** What is wrong with the locations that were saved. */
  errors: SourceError[];
  onSaved: (saved: ReadCatalogConfig) => void;
}) {
  const { slug, onSaved } = props;
  const tenantsApi = useApi(tenantsApiRef);
  const { t } = useTranslationRef(tenantsTranslationRef);
  const [base, setBase] = useState(props.config);
  const [text, setText] = useState(() => toText(props.config));
  const [theirs, setTheirs] = useState<ReadCatalogConfig>();
  const { isPending, failure, forget, run } = useTask();
  const isSlow = useIsSlow(isPending);
  const [announcement, setAnnouncement] = useState('');
  const [isTyping, setTyping] = useState(false);

  const parsed = parseText(text);
  const isChanged = text !== toText(base);
  const refusal =
    statusOf(failure?.error) === 400 ? messageOf(failure?.error) : undefined;
  const refusedLocation = refusal ? locationIn(refusal) : undefined;

  const edit = (next: SetStateAction<string>, said = '') => {
    setText(next);
    forget();
    setAnnouncement(said);
  };
  const startFrom = (next: ReadCatalogConfig) => {
    setBase(next);
    setTheirs(undefined);
    edit(toText(next));
  };

  const save = async (ifMatch: string | undefined) => {
    if (!parsed.config) {
      return;
    }
    const { config } = parsed;
    setAnnouncement('');
    await run(t('sources.save.failed'), async () => {
      const saved = await tenantsApi
        .putCatalogConfig(slug, config, { ifMatch })
        .catch(async error => {
          if (statusOf(error) !== 412) {
            throw error;
          }
          const now = await tenantsApi.getCatalogConfig(slug);
          // Otherwise it was this page: saved, but the answer was lost on its way.
          if (toText(now) !== toText(config)) {
            setTheirs(now);
            return undefined;
          }
          return now;
        });
      if (!saved) {
        return;
      }
      setBase(saved);
      setTheirs(undefined);
      // It may have been edited meanwhile.
      edit(
        current => (current === text ? toText(saved) : current),
        t('sources.save.saved'),
      );
      onSaved(saved);
    });
  };

  return (
    <Flex direction="column" gap="4">
      <Part
        title={t('sources.locations.title')}
        explanation={t('sources.locations.explanation')}
        level={3}
        isBoxed
      >
        {parsed.config ? (
          <LocationsForm
            slug={slug}
            locations={locationsOf(parsed.config)}
            errors={props.errors}
            refusal={
              refusal !== undefined && refusedLocation !== undefined
                ? { index: refusedLocation, message: refusal }
                : undefined
            }
            onTyping={setTyping}
            onAdd={(location, entities) =>
              edit(
                // It was tried meanwhile, and the text may be another one.
                current => addLocation(current, location),
                entities === undefined
                  ? t('sources.locations.added', location)
                  : t('sources.locations.addedWith', {
                      ...location,
                      count: entities,
                    }),
              )
            }
            onRemove={index => {
              edit(
                removeLocation(text, index),
                t('sources.locations.removed', {
                  target: locationsOf(parsed.config)[index].target,
                }),
              );
            }}
          />
        ) : (
          <Alert
            status="warning"
            icon
            description={t('sources.locations.unreadable')}
          />
        )}
      </Part>
      <Part title={t('sources.yaml.title')} level={3} isBoxed>
        <TextAreaField
          className={styles.yaml}
          label={t('sources.yaml.label')}
          description={t('sources.yaml.description')}
          rows={Math.min(
            MOST_ROWS,
            Math.max(FEWEST_ROWS, text.split('\n').length),
          )}
          value={text}
          onChange={next => edit(next)}
          spellCheck="false"
          validationBehavior="aria"
          validate={() =>
            parsed.problem
              ? t('sources.yaml.invalid', {
                  line: String(parsed.problem.line),
                  message: parsed.problem.message,
                })
              : refusal ?? null
          }
        />
      </Part>
      {theirs && (
        <Conflict
          base={base}
          theirs={theirs}
          isPending={isPending}
          canSave={parsed.config !== undefined}
          onOverwrite={() => save(theirs.etag)}
          onTakeTheirs={() => startFrom(theirs)}
        />
      )}
      <div className={isChanged ? styles.unsaved : undefined}>
        {failure && (
          <div className={styles.refusal}>
            <Failure {...failure} />
          </div>
        )}
        <div role="status" className={styles.said}>
          <Text color="secondary">
            {(isSlow && t('sources.save.slow')) ||
              announcement ||
              (isChanged && t('sources.save.unsaved'))}
          </Text>
        </div>
        {!theirs && (isChanged || isPending) && (
          <Buttons>
            <Button
              variant="secondary"
              isDisabled={isPending}
              onPress={() => startFrom(base)}
            >
              {t('sources.save.discard')}
            </Button>
            <Button
              isPending={isPending}
              isDisabled={!parsed.config}
              onPress={() => save(base.etag)}
            >
              {t('sources.save.submit')}
            </Button>
          </Buttons>
        )}
      </div>
      <LeaveDialog isChanged={isChanged || isTyping} />
    </Flex>
  );
}

/** They go once there is nothing to save. */
function Buttons({ children }: { children: ReactNode }) {
  const room = useFocusPassedOn<HTMLDivElement>();
  return (
    <Flex ref={room} gap="2" className={styles.buttons}>
      {children}
    </Flex>
  );
}
