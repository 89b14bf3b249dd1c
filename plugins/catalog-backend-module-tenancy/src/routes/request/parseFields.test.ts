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
    [['metadata.tags.0', 'metadata.tags.1'], { metadata: { tags: ['java'] } }],
    [
      ['metadata.labels.4000000000'],
      { metadata: { labels: { '4000000000': 'many' } } },
    ],
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

  it('follows a path no further than there is something', () => {
    const metadata = { name: 'a' };
    const keys = jest.fn(() => Reflect.ownKeys(metadata));
    const watched = new Proxy(metadata, { ownKeys: keys });
    const path = `metadata${'.a'.repeat(10_000)}`;
    expect(parseFields([path])?.({ ...entity, metadata: watched })).toEqual({});
    expect(keys).toHaveBeenCalledTimes(1);
  });

  it('refuses paths into arrays', () => {
    expect(() => parseFields(['kind,metadata.tags[0]'])).toThrow(
      new InputError(
        'Invalid field "metadata.tags[0]", array type fields are not supported',
      ),
    );
  });

  it('takes 200 different fields, and no more', () => {
    const fields = Array.from({ length: 201 }, (_, index) => `a${index}`);
    expect(parseFields([...fields.slice(1), 'a1'])?.(entity)).toEqual({});
    expect(() => parseFields(fields)).toThrow(
      new InputError('Invalid fields, expected at most 200, got 201'),
    );
  });
});
