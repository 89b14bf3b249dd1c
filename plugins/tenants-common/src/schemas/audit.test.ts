import { parseInput } from '@internal/http-client';
import { listTenantAuditSchema } from './audit';

describe('a query of an audit trail', () => {
  it.each(['yesterday', '0000-01-01T00:00:00Z', '9999-12-31T23:00:00-14:00'])(
    'is told once that %s is no time',
    from => {
      expect(() =>
        parseInput(listTenantAuditSchema, { from }, 'query'),
      ).toThrow(
        expect.objectContaining({
          message: `Invalid query: from must be a time such as 2026-01-31T12:00:00Z, got "${from}"`,
        }),
      );
    },
  );
});
