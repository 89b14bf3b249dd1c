import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { useWords } from '../../history/difference/useWords';
import { mockupTranslationRef } from '../../translation';
import styles from '../editor.module.css';
import { differencesOf } from '../model/differences';
import type { Content } from '../model/editorReducer';

/** How many differences are listed; all are many where a layout is another one. */
const MOST = 50;

/** How two contents of a mockup differ, in words. */
export function Differences(props: { before: Content; after: Content }) {
  const { before, after } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const words = useWords();
  const items = differencesOf(before.items, after.items);
  const lines: string[] = [
    ...(before.name === after.name
      ? []
      : [t('editor.differences.name', { name: after.name })]),
    ...(before.description === after.description
      ? []
      : [
          after.description
            ? t('editor.differences.description', {
                description: after.description,
              })
            : t('editor.differences.noDescription'),
        ]),
    ...items.map(
      each => `${words.nameOf(each)}: ${words.sentencesOf(each).join(' ')}`,
    ),
  ];
  if (lines.length === 0) {
    lines.push(t('editor.differences.order'));
  }
  return (
    // It scrolls, which takes the focus of a keyboard.
    // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <ul className={styles.differences} tabIndex={0}>
      {lines.slice(0, MOST).map((line, index) => (
        <li key={index}>{line}</li>
      ))}
      {lines.length > MOST && (
        <li>
          {t('editor.differences.more', {
            number: String(lines.length - MOST),
          })}
        </li>
      )}
    </ul>
  );
}
