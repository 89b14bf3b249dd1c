import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { TextAreaField, TextField } from '@backstage/ui';
import type { CSSProperties } from 'react';
import { mockupTranslationRef } from '../translation';

/** What the portal takes of a text. It counts code points, as the backend does. */
interface TextBounds {
  most: number;
  isRequired?: boolean;
}

/** Whether the portal takes a text. */
export function isWithin(
  text: string,
  { most, isRequired }: TextBounds,
): boolean {
  return [...text].length <= most && !(isRequired && text.trim() === '');
}

/** A field for a text, which says what is wrong with that. */
export function LimitedField(
  props: TextBounds & {
    label: string;
    description?: string;
    value: string;
    onChange: (value: string) => void;
    /** Whether it has several lines. */
    isLong?: boolean;
    /** Whether it was tried: then the field says that the text is missing, too. */
    isTried?: boolean;
    style?: CSSProperties;
  },
) {
  const { most, isRequired, isLong, isTried, ...field } = props;
  const { label, value } = field;
  const { t } = useTranslationRef(mockupTranslationRef);
  const { length } = [...value];
  const problem = () => {
    if (length > most) {
      return t('components.text.long', {
        most: String(most),
        length: String(length),
      });
    }
    return isRequired && isTried && value.trim() === ''
      ? t('components.text.missing', { label })
      : null;
  };
  const Field = isLong ? TextAreaField : TextField;
  return (
    <Field
      {...field}
      isRequired={isRequired}
      autoComplete="off"
      validationBehavior="aria"
      validate={problem}
    />
  );
}
