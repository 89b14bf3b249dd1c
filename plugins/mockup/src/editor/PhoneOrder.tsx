import { useTranslationRef } from '@backstage/frontend-plugin-api';
import { Button, ButtonIcon, Checkbox, Text } from '@backstage/ui';
import { keepFocus } from '@internal/pages';
import { RiArrowDownLine, RiArrowUpLine } from '@remixicon/react';
import {
  allItems,
  itemsWithin,
  type LayoutItem,
  phonePlaceOf,
  withItems,
  withPhonePlace,
} from 'backstage-plugin-mockup-common';
import { phoneOrder } from '../components/grid';
import { useWords } from '../history/difference/useWords';
import { mockupTranslationRef } from '../translation';
import styles from './editor.module.css';
import type { Items } from './model/grid';

interface PhoneOrderProps {
  items: Items;
  onChange: (items: Items) => void;
  /** Called with what was done. */
  onSaid: (text: string) => void;
}

/** In which order the items of a page come on a phone, and which of them; those of containers too. */
export function PhoneOrder(props: PhoneOrderProps) {
  const { items, onChange } = props;
  const { t } = useTranslationRef(mockupTranslationRef);
  const isArranged = allItems(items).some(
    ({ item }) => Object.keys(phonePlaceOf(item)).length > 0,
  );
  return (
    <section className={styles.phone} aria-labelledby="mockup-phone">
      <h2 id="mockup-phone" className={styles.heading}>
        {t('editor.phone.title')}
      </h2>
      <Text as="p" color="secondary">
        {t('editor.phone.help')}
      </Text>
      <OrderedItems {...props} />
      <Button
        variant="secondary"
        isDisabled={!isArranged}
        onPress={event => {
          onChange(items.map(withoutPlaces));
          keepFocus(event);
        }}
      >
        {t('editor.phone.reset')}
      </Button>
    </section>
  );
}

/** The items of the page or of a container, each with those that it holds. */
function OrderedItems(props: PhoneOrderProps) {
  const { items, onChange, onSaid } = props;
  const { nameOfItem } = useWords();
  const { t } = useTranslationRef(mockupTranslationRef);
  const ordered = phoneOrder(items);

  const change = (item: LayoutItem, next: LayoutItem) =>
    onChange(items.map(each => (each === item ? next : each)));
  const move = (at: number, by: number) => {
    const next = ordered.map(({ i }) => i);
    next.splice(at + by, 0, ...next.splice(at, 1));
    onChange(
      items.map(item =>
        withPhonePlace(item, {
          ...phonePlaceOf(item),
          order: next.indexOf(item.i),
        }),
      ),
    );
    onSaid(
      t('editor.phone.moved', {
        item: nameOfItem(ordered[at]),
        place: String(at + by + 1),
        total: String(ordered.length),
      }),
    );
  };
  const hide = (item: LayoutItem, isHidden: boolean) => {
    const { order } = phonePlaceOf(item);
    const place = {
      ...(order !== undefined && { order }),
      ...(isHidden && { hidden: true }),
    };
    const isPlaced = Object.keys(place).length > 0;
    change(item, withPhonePlace(item, isPlaced ? place : undefined));
  };

  return (
    <ol>
      {ordered.map((item, at) => {
        const title = nameOfItem(item);
        const within = itemsWithin(item);
        return (
          <li key={item.i}>
            <div>
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
                onPress={event => {
                  move(at, -1);
                  keepFocus(event);
                }}
              />
              <ButtonIcon
                size="small"
                variant="tertiary"
                icon={<RiArrowDownLine />}
                aria-label={t('editor.phone.down', { item: title })}
                isDisabled={at === ordered.length - 1}
                onPress={event => {
                  move(at, 1);
                  keepFocus(event);
                }}
              />
            </div>
            {within.length > 0 && (
              <OrderedItems
                items={within}
                onSaid={onSaid}
                onChange={next => change(item, withItems(item, next))}
              />
            )}
          </li>
        );
      })}
    </ol>
  );
}

/** An item as it comes on the page, with those that it holds. */
function withoutPlaces(item: LayoutItem): LayoutItem {
  const within = itemsWithin(item);
  const own = withPhonePlace(item, undefined);
  return within.length > 0 ? withItems(own, within.map(withoutPlaces)) : own;
}
