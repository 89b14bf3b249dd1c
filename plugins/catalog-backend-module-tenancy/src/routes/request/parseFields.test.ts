import { InputError } from '@backstage/errors';
import { parseFields } from './parseFields';

const entity = {
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: {
    name: 'a',
    annotations: { 'backstage.io/managed-by': 'x' },
    tags: ['java'],
  },
  spec: { type: 'service' },
};

describe('parseFields', () => {
  it.each([
    [['kind'], { kind: 'Component' }],
    [
      ['kind,metadata.name', ' spec '],
      { kind: 'Component', metadata: { name: 'a' }, spec: { type: 'service' } },
    ],
    [
      ['metadata.annotations.backstage.io/managed-by'],
      { metadata: { annotations: { 'backstage.io/managed-by': 'x' } } },
    ],
    [['metadata.tags'], { metadata: { tags: ['java'] } }],
    [['metadata.nothing', 'spec.type.more', 'nothing.at.all'], {}],
    [['constructor', '__proto__.a', 'kind.constructor'], {}],
  ])('keeps %j', (fields, expected) => {
    expect(parseFields(fields)?.(entity)).toEqual(expected);
  });

  it('takes fields from several places', () => {
    expect(
      parseFields(['kind'], undefined, ['metadata.name'])?.(entity),
    ).toEqual({ kind: 'Component', metadata: { name: 'a' } });
  });

  it.each([[undefined], [[]], [[' , ']]])(
    'leaves entities whole by %j',
    fields => {
      expect(parseFields(fields)).toBeUndefined();
    },
  );

  it('refuses paths into arrays', () => {
    expect(() => parseFields(['kind,metadata.tags[0]'])).toThrow(
      new InputError(
        'Invalid field "metadata.tags[0]", array type fields are not supported',
      ),
    );
  });
});
