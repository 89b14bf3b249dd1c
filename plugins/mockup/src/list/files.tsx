import {
  identityApiRef,
  useApi,
  useTranslationRef,
} from '@backstage/frontend-plugin-api';
import { Radio, RadioGroup, Text } from '@backstage/ui';
import { ActionDialog, Alert, Loading, useRead } from '@internal/pages';
import { useId, useState } from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';
import {
  findKnown,
  type KnownMockup,
  readFile,
  toFile,
  update,
  withoutKnown,
} from './fileUpdates';
import type { Dashboard } from './grafana';

/** Hands the file of a response to the browser, which keeps it where it keeps files. */
export async function download(
  response: Response,
  fileName: string,
): Promise<void> {
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(address);
}

/** The name of a file of something with this name, without what a file system refuses. */
export function fileNameOf(name: string, ending: string): string {
  const safe = name
    .replace(/[^\p{Letter}\p{Mark}\p{Number}]+/gu, '-')
    .replace(/^-|-$/g, '');
  return `${[...safe].slice(0, 80).join('') || 'mockup'}.${ending}`;
}

/**
 * Asks for a file of exported mockups, and imports it. Where some of them are here already, it
 * asks whether to update those.
 */
export function ImportDialog(props: {
  onDone: (count: { imported: number; updated: number }) => void;
  onClose: () => void;
}) {
  const { onDone, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const mockupApi = useApi(mockupApiRef);
  const identityApi = useApi(identityApiRef);
  const id = useId();
  const [file, setFile] = useState<File>();
  const [isTried, setTried] = useState(false);
  const [isUpdate, setUpdate] = useState(true);
  const isMissing = isTried && !file;
  const state = useRead(async () => {
    if (!file) {
      return undefined;
    }
    const { userEntityRef } = await identityApi.getBackstageIdentity();
    const read = await readFile(file, userEntityRef);
    return read && { ...read, known: await findKnown(mockupApi, read.content) };
  }, [mockupApi, identityApi, file]);
  const { loading, error, retry } = state;
  // Of the file that is chosen now.
  const found = loading ? undefined : state.value;
  const known = found?.known ?? [];

  async function importFile(chosen: File, idempotencyKey: string) {
    if (!found || known.length === 0 || !isUpdate) {
      const imported = await mockupApi.importMockups(
        found?.dashboard ? toFile(found.content) : chosen,
        { idempotencyKey },
      );
      return { imported: imported.length, updated: 0 };
    }
    const updated: KnownMockup[] = [];
    for (const each of known) {
      if (await update(mockupApi, each)) {
        updated.push(each);
      }
    }
    const others = withoutKnown(found.content, updated);
    const imported = others
      ? await mockupApi.importMockups(others, { idempotencyKey })
      : [];
    return { imported: imported.length, updated: updated.length };
  }
  return (
    <ActionDialog
      title={t('list.import.title')}
      texts={[t('list.import.text')]}
      submit={t('list.import.submit')}
      failed={t(
        known.length > 0 && isUpdate
          ? 'list.import.failedPartly'
          : 'list.import.failed',
      )}
      onClose={onClose}
      onSubmit={async idempotencyKey => {
        setTried(true);
        if (!file) {
          return false;
        }
        if (error) {
          retry();
          throw error;
        }
        onDone(await importFile(file, idempotencyKey));
        return true;
      }}
      isDisabled={file !== undefined && loading}
    >
      <div>
        <label htmlFor={id}>
          <Text weight="bold">{t('list.import.file')}</Text>
        </label>
        <input
          id={id}
          type="file"
          accept=".json,application/json"
          aria-invalid={isMissing}
          aria-describedby={isMissing ? `${id}-missing` : undefined}
          style={{ display: 'block', maxWidth: '100%', font: 'inherit' }}
          onChange={event => setFile(event.target.files?.[0])}
        />
        {isMissing && (
          <Text as="p" id={`${id}-missing`} color="danger">
            {t('list.import.missing')}
          </Text>
        )}
      </div>
      {file && loading && <Loading height={40} />}
      {found?.dashboard && <DashboardNote dashboard={found.dashboard} />}
      {known.length > 0 && (
        <RadioGroup
          label={t('list.import.known', {
            names: known.map(({ here }) => here.name).join(', '),
          })}
          value={isUpdate ? 'update' : 'new'}
          onChange={value => setUpdate(value === 'update')}
        >
          <Radio value="update">{t('list.import.update')}</Radio>
          <Radio value="new">{t('list.import.new')}</Radio>
        </RadioGroup>
      )}
    </ActionDialog>
  );
}

const MOST_NAMED = 10;

/** Says what becomes of a dashboard of Grafana, and what of it does not. */
function DashboardNote({ dashboard }: { dashboard: Dashboard }) {
  const { title, layoutData, unknown } = dashboard;
  const { t } = useTranslationRef(mockupTranslationRef);
  const more = unknown.length - MOST_NAMED;
  const names = [
    ...unknown.slice(0, MOST_NAMED),
    ...(more > 0 ? [t('list.grafana.more', { count: more })] : []),
  ].join(', ');
  return (
    <Alert
      status={unknown.length > 0 ? 'warning' : 'info'}
      icon
      title={t('list.grafana.title', {
        title,
        items: String(layoutData.length),
      })}
      description={[
        t('list.grafana.text'),
        ...(unknown.length > 0 ? [t('list.grafana.unknown', { names })] : []),
      ].join(' ')}
    />
  );
}
