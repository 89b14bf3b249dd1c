import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Text, VisuallyHidden } from '@backstage/ui';
import { RiCheckLine, RiFileCopyLine } from '@remixicon/react';
import { useState } from 'react';
import useCopyToClipboard from 'react-use/esm/useCopyToClipboard';
import { pagesTranslationRef } from './translation';

/** Copies a text, and says whether that worked. */
export function CopyButton(props: { label: string; textOf: () => string }) {
  const { label, textOf } = props;
  const { t } = useTranslationRef(pagesTranslationRef);
  // The clipboard of the browser is closed to pages without TLS.
  const [{ error }, copy] = useCopyToClipboard();
  const [isDone, setDone] = useState(false);
  return (
    <div>
      <Button
        variant="secondary"
        iconStart={
          isDone && !error ? (
            <RiCheckLine aria-hidden />
          ) : (
            <RiFileCopyLine aria-hidden />
          )
        }
        onPress={() => {
          copy(textOf());
          setDone(true);
        }}
      >
        {isDone && !error ? t('copy.done') : label}
      </Button>
      <span role="status">
        {isDone &&
          (error ? (
            <Text variant="body-small"> {t('copy.failed')}</Text>
          ) : (
            <VisuallyHidden>{t('copy.done')}</VisuallyHidden>
          ))}
      </span>
    </div>
  );
}
