import { InputError } from '@backstage/errors';
import { parseFields } from './parseFields';

const entity = {
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: {
    name: 'a',
    annotations: { 'backstage.io/managed-by': 'x' },
    labels: { '4000000000': 'many' },
    tags: ['java'],
  },
  spec: { type: 'service' },
};

describe('parseFields', () => {
  it('takes 200 different fields, and no more', () => {
    const fields = Array.from({ length: 201 }, (_, index) => `a${index}`);
    expect(parseFields([...fields.slice(1), 'a1'])?.(entity)).toEqual({});
    expect(() => parseFields(fields)).toThrow(
      new InputError('Invalid fields, expected at most 200, got 201'),
    );
  });
});
