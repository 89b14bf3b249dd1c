import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonIcon, Checkbox, Text } from '@backstage/ui';
import { RiArrowDownLine, RiArrowUpLine } from '@remixicon/react';
import {
  type LayoutItem,
  phonePlaceOf,
  withPhonePlace,
} from 'backstage-plugin-mockup-common';
import { phoneOrder } from '../components/grid';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Items } from './model/grid';

/** In which order the items of a page come on a phone, and which of them. */
export function PhoneOrder(props: {
  items: Items;
  titleOf: (item: LayoutItem) => string;
  onChange: (items: Items) => void;
}) {
  const { items, titleOf, onChange } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const ordered = phoneOrder(items);
  const isArranged = items.some(
    item => Object.keys(phonePlaceOf(item)).length > 0,
  );

  const change = (toNext: (item: LayoutItem) => LayoutItem) =>
    onChange(items.map(toNext));
  const move = (at: number, by: number) => {
    const next = ordered.map(({ i }) => i);
    next.splice(at + by, 0, ...next.splice(at, 1));
    change(item =>
      withPhonePlace(item, {
        ...phonePlaceOf(item),
        order: next.indexOf(item.i),
      }),
    );
  };
  const hide = (hidden: LayoutItem, isHidden: boolean) =>
    change(item => {
      if (item !== hidden) {
        return item;
      }
      const { order } = phonePlaceOf(item);
      const place = {
        ...(order !== undefined && { order }),
        ...(isHidden && { hidden: true }),
      };
      return withPhonePlace(
        item,
        Object.keys(place).length > 0 ? place : undefined,
      );
    });

  return (
    <section className={styles.phone} aria-labelledby="mockup-phone">
      <h2 id="mockup-phone" className={styles.heading}>
        {t('editor.phone.title')}
      </h2>
      <Text as="p" color="secondary">
        {t('editor.phone.help')}
      </Text>
      <ol>
        {ordered.map((item, at) => {
          const title = titleOf(item);
          return (
            <li key={item.i}>
              <Checkbox
                isSelected={!phonePlaceOf(item).hidden}
                onChange={isShown => hide(item, !isShown)}
              >
                {title}
              </Checkbox>
              <ButtonIcon
                size="small"
                variant="tertiary"
                icon={<RiArrowUpLine />}
                aria-label={t('editor.phone.up', { item: title })}
                isDisabled={at === 0}
                onPress={() => move(at, -1)}
              />
              <ButtonIcon
                size="small"
                variant="tertiary"
                icon={<RiArrowDownLine />}
                aria-label={t('editor.phone.down', { item: title })}
                isDisabled={at === ordered.length - 1}
                onPress={() => move(at, 1)}
              />
            </li>
          );
        })}
      </ol>
      <Button
        variant="secondary"
        isDisabled={!isArranged}
        onPress={() => change(item => withPhonePlace(item, undefined))}
      >
        {t('editor.phone.reset')}
      </Button>
    </section>
  );
}
