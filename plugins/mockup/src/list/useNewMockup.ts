import { useApi } from '@backstage/frontend-plugin-api';
import { newIdempotencyKey } from '@internal/pages';
import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { useRef, useState } from 'react';
import { mockupApiRef } from '../api';

/**
 * Creates a mockup with a first version, if a layout is given. Where that fails, it is tried again for
 * the same mockup.
 */
export function useNewMockup() {
  const api = useApi(mockupApiRef);
  const [idempotencyKey] = useState(newIdempotencyKey);
  const created = useRef<{ id: string; name: string; description: string }>();
  return {
    /** The id of the mockup, once it is there. */
    idOf: () => created.current?.id ?? '',
    async create(
      details: { name: string; description: string },
      layoutData: readonly LayoutItem[] | undefined,
    ): Promise<void> {
      const { name, description } = details;
      const before = created.current;
      let id = before?.id;
      if (id === undefined) {
        const { mockup } = await api.createMockup(
          { name, ...(description && { description }) },
          { idempotencyKey },
        );
        id = mockup.id;
      } else if (before?.name !== name || before.description !== description) {
        await api.updateMockup(id, { name, description: description || null });
      }
      created.current = { id, name, description };
      if (layoutData) {
        await api.saveVersion(id, { layoutData: [...layoutData] });
      }
    },
  };
}
