import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, VisuallyHidden } from '@backstage/ui';
import { RiCheckLine, RiFileCopyLine } from '@remixicon/react';
import { useState } from 'react';
import useCopyToClipboard from 'react-use/esm/useCopyToClipboard';
import { mockupTranslationRef } from '../translation';

/** Copies a text, and says whether that worked. */
export function CopyButton(props: { label: string; textOf: () => string }) {
  const { label, textOf } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  // The clipboard of the browser is closed to pages without TLS.
  const [{ error }, copy] = useCopyToClipboard();
  const [isDone, setDone] = useState(false);
  return (
    <>
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
        {isDone && !error ? t('components.copy.done') : label}
      </Button>
      <VisuallyHidden role="status">
        {isDone && t(error ? 'components.copy.failed' : 'components.copy.done')}
      </VisuallyHidden>
    </>
  );
}
