import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import { Text } from '@backstage/ui';
import { ActionDialog } from '@internal/pages';
import type { Mockup } from 'backstage-plugin-mockup-common';
import { useId, useState } from 'react';
import { mockupApiRef } from '../api';
import { mockupTranslationRef } from '../translation';

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

/** The name of a file with a mockup, without what a file system refuses. */
export function fileNameOf({ name }: Mockup): string {
  const safe = name
    .replace(/[^\p{Letter}\p{Number}]+/gu, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 80);
  return `${safe || 'mockup'}.mockup.json`;
}

/** Asks for a file of exported mockups, and imports it. */
export function ImportDialog(props: {
  onDone: (mockups: Mockup[]) => void;
  onClose: () => void;
}) {
  const { onDone, onClose } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const mockupApi = useApi(mockupApiRef);
  const id = useId();
  const [file, setFile] = useState<File>();
  const [isTried, setTried] = useState(false);
  const isMissing = isTried && !file;
  return (
    <ActionDialog
      title={t('list.import.title')}
      texts={[t('list.import.text')]}
      submit={t('list.import.submit')}
      failed={t('list.import.failed')}
      onClose={onClose}
      onSubmit={async () => {
        setTried(true);
        if (!file) {
          return false;
        }
        onDone(await mockupApi.importMockups(file));
        return true;
      }}
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
    </ActionDialog>
  );
}
