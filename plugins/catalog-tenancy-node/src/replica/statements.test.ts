import { toPrimaryFacts } from './statements';

describe('The end of the log of a primary', () => {
  const endOf = (lsn: string) =>
    toPrimaryFacts({
      systemId: '7',
      database: 'portal',
      segment: '0000000A0000000100000002',
      segmentBytes: String(2 ** 24),
      pageBytes: '8192',
      lsn,
    });

  it('is on the timeline that its segment is named after', () => {
    expect(endOf('1/2000100')).toEqual({
      systemId: '7',
      database: 'portal',
      timeline: 10,
      lsn: 0x102000100n,
    });
  });

  it.each([
    ['0/2000028', 0x2000000n],
    ['0/2002018', 0x2002000n],
  ])('%s is behind the header of a page without a record', (lsn, end) => {
    expect(endOf(lsn).lsn).toBe(end);
  });

  it.each([
    ['0/2000018', 0x2000018n],
    ['0/2002028', 0x2002028n],
    ['0/2000030', 0x2000030n],
    ['16/B374D848', 0x16b374d848n],
    ['1/0', 0x100000000n],
  ])('%s is behind a record', (lsn, end) => {
    expect(endOf(lsn).lsn).toBe(end);
  });
});
