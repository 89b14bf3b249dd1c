import { useApi, useTranslationRef } from '@backstage/frontend-plugin-api';
import type {
  ItemDifference,
  LayoutItem,
} from 'backstage-plugin-mockup-common';
import { useMemo } from 'react';
import { boxOf } from '../../components/grid';
import { mockupComponentsApiRef } from '../../components/registry/MockupComponentBlueprint';
import { mockupTranslationRef } from '../../translation';
import { type Kind, itemOf, kindsOf } from './changes';

/** What a person would call an item by. */
const NAMING_PROPS = ['title', 'text', 'label', 'name', 'alt', 'entityRef'];
const LONGEST_NAME = 40;

/** Says items and differences in words. */
export function useWords() {
  const { t } = useTranslationRef(mockupTranslationRef);
  const components = useApi(mockupComponentsApiRef);
  return useMemo(() => {
    const titleOf = (component: string) =>
      components.get(component)?.title ?? component;
    const placeOf = ({ x, y }: LayoutItem) =>
      t('history.difference.place', { x: String(x + 1), y: String(y + 1) });
    const sizeOf = ({ w, h }: LayoutItem) =>
      t('history.difference.size', { w: String(w), h: String(h) });

    /** An item by its component, and by what is written on it. */
    const nameOf = (item: LayoutItem) => {
      const text = NAMING_PROPS.map(name => item.props[name]).find(
        value => typeof value === 'string' && value.trim(),
      );
      return typeof text === 'string'
        ? t('history.difference.named', {
            component: titleOf(item.component),
            text:
              text.length > LONGEST_NAME
                ? // Without half of a character.
                  `${text
                    .slice(0, LONGEST_NAME)
                    .replace(/[\uD800-\uDBFF]$/, '')}…`
                : text,
          })
        : titleOf(item.component);
    };

    /** One thing that has happened to an item. */
    const sentenceOf = (kind: Kind, difference: ItemDifference) => {
      const { before, after } = difference;
      const item = itemOf(difference);
      const [old, now] = [before ?? item, after ?? item];
      switch (kind) {
        case 'added':
        case 'removed':
          return t(`history.difference.sentence.${kind}`, {
            place: placeOf(item),
            size: sizeOf(item),
          });
        case 'moved':
          return t('history.difference.sentence.moved', {
            from: placeOf(old),
            to: placeOf(now),
          });
        case 'resized':
          return t('history.difference.sentence.resized', {
            from: sizeOf(old),
            to: sizeOf(now),
          });
        case 'component':
          return t('history.difference.sentence.component', {
            from: titleOf(old.component),
            to: titleOf(now.component),
          });
        default:
          return t(`history.difference.sentence.${kind}`);
      }
    };

    return {
      nameOfItem: nameOf,
      /** An item with its place and size. */
      labelOf(item: LayoutItem) {
        const { x, y, w, h } = boxOf(item);
        return t('editor.canvas.item', {
          title: nameOf(item),
          x: String(x + 1),
          y: String(y + 1),
          w: String(w),
          h: String(h),
        });
      },
      nameOf: (difference: ItemDifference) => nameOf(itemOf(difference)),
      sentencesOf: (difference: ItemDifference) =>
        kindsOf(difference).map(kind => sentenceOf(kind, difference)),
    };
  }, [t, components]);
}
