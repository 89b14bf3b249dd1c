import { createTranslationRef } from '@backstage/frontend-plugin-api';
import { pagesTranslationRef as ofPages } from '@internal/pages';
import { componentsMessages } from './components/messages';
import { editorMessages } from './editor/messages';
import { entityMessages } from './entity/messages';
import { historyMessages } from './history/messages';
import { listMessages } from './list/messages';
import { pagesMessages } from './pages/messages';
import { reviewMessages } from './review/messages';
import { sharingMessages } from './sharing/messages';

/**
 * The texts of the plugin, to be translated.
 *
 * @public
 */
export const mockupTranslationRef = createTranslationRef({
  id: 'mockup',
  messages: {
    components: componentsMessages,
    editor: editorMessages,
    entity: entityMessages,
    history: historyMessages,
    list: listMessages,
    pages: pagesMessages,
    review: reviewMessages,
    sharing: sharingMessages,
  },
});

/**
 * The texts that the pages of tenants and of mockups share, to be translated.
 *
 * @public
 */
export const pagesTranslationRef = ofPages;
