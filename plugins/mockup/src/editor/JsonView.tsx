import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, Flex, Text, TextAreaField } from '@backstage/ui';
import { messageOf } from '@internal/pages';
import { parseInput } from '@internal/http-client';
import { type LayoutItem, layoutSchema } from 'backstage-plugin-mockup-common';
import { useMemo, useRef } from 'react';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Items } from './model/grid';

/** The layout as text, with what the backend would say of it. */
export function JsonView(props: {
  items: Items;
  /** What was typed and not applied; nothing while nothing was: undo then shows here as well. */
  typed: string | undefined;
  onType: (text: string | undefined) => void;
  isReadOnly: boolean;
  onApply: (items: LayoutItem[]) => void;
}) {
  const { items, typed, onType, isReadOnly, onApply } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const current = useMemo(() => JSON.stringify(items, null, 2), [items]);
  const text = typed ?? current;
  const parsed = useMemo(() => parse(text), [text]);
  const problem =
    parsed.problem &&
    (parsed.isJson
      ? parsed.problem
      : t('editor.json.invalid', { message: parsed.problem }));
  const isTyped = typed !== undefined;
  const room = useRef<HTMLElement>(null);
  const typeNothing = () => {
    onType(undefined);
    // There is nothing to apply or reset any more: both buttons are disabled.
    room.current?.querySelector('textarea')?.focus({ preventScroll: true });
  };
  return (
    <section ref={room} className={styles.json}>
      <Flex direction="column" gap="3">
        <TextAreaField
          className={styles.code}
          label={t('editor.json.label')}
          description={t('editor.json.description')}
          value={text}
          onChange={next => onType(next === current ? undefined : next)}
          isReadOnly={isReadOnly}
          rows={24}
          spellCheck="false"
          validationBehavior="aria"
          validate={() => problem ?? null}
        />
        {!isReadOnly && (
          <Flex gap="2" align="center">
            <Button
              isDisabled={!isTyped || !parsed.items}
              onPress={() => {
                if (parsed.items) {
                  onApply(parsed.items);
                  typeNothing();
                }
              }}
            >
              {t('editor.json.apply')}
            </Button>
            <Button
              variant="secondary"
              isDisabled={!isTyped}
              onPress={typeNothing}
            >
              {t('editor.json.reset')}
            </Button>
            {isTyped && (
              <Text color="secondary">{t('editor.json.unapplied')}</Text>
            )}
          </Flex>
        )}
      </Flex>
    </section>
  );
}

function parse(text: string): {
  items?: LayoutItem[];
  problem?: string;
  isJson: boolean;
} {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { problem: messageOf(error), isJson: false };
  }
  try {
    return { items: parseInput(layoutSchema, value, 'layout'), isJson: true };
  } catch (error) {
    return { problem: messageOf(error), isJson: true };
  }
}
