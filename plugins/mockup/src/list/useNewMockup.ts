import { useApi } from '@backstage/frontend-plugin-api';
import { statusOf } from '@internal/pages';
import type { LayoutItem, Mockup } from 'backstage-plugin-mockup-common';
import { useRef } from 'react';
import { mockupApiRef } from '../api';
import { saveNewest } from './fileUpdates';

/**
 * Creates a mockup with a first version, if a layout is given. Where that fails, it is tried again for
 * the same mockup.
 */
export function useNewMockup() {
  const api = useApi(mockupApiRef);
  /** What was sent first: with that, another attempt finds the mockup if the answer was lost. */
  const sent = useRef<{ name: string; description: string }>();
  const created = useRef<{ mockup: Mockup; etag: string }>();
  return {
    /** The id of the mockup, once it is there. */
    idOf: () => created.current?.mockup.id ?? '',
    async create(
      details: { name: string; description: string },
      layoutData: readonly LayoutItem[] | undefined,
      idempotencyKey: string,
    ): Promise<void> {
      sent.current ??= details;
      const first = sent.current;
      try {
        created.current ??= await api.createMockup(
          {
            name: first.name,
            ...(first.description && { description: first.description }),
          },
          { idempotencyKey },
        );
      } catch (error) {
        if (statusOf(error) === 400) {
          sent.current = undefined;
        }
        throw error;
      }
      const { id, name, description = '' } = created.current.mockup;
      if (name !== details.name || description !== details.description) {
        created.current = await api.updateMockup(id, {
          name: details.name,
          description: details.description || null,
        });
      }
      if (!layoutData) {
        return;
      }
      const version = { layoutData: [...layoutData] };
      try {
        const { etag } = created.current;
        await api.saveVersion(id, version, { ifMatch: etag });
      } catch (error) {
        if (statusOf(error) !== 412) {
          throw error;
        }
        // The answer to an earlier attempt was lost.
        await saveNewest(api, id, version);
      }
    },
  };
}
