import { CustomErrorBase } from '@backstage/errors';

/** A source of a tenant leads to a host that the operator has not listed. */
export class UnlistedHostError extends CustomErrorBase {
  name = 'NotAllowedError' as const;

  /** @param address - of the host, if it is not in the name */
  constructor(host: string, address?: string) {
    const at = address === undefined || address === host ? '' : ` (${address})`;
    super(
      `The source leads to ${host}${at}, an address inside of a network, and the operator has not ` +
        'listed that host: it would have to be in integrations or backend.reading.allow',
    );
  }
}
