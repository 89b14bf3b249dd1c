import {
  createTestDatabases,
  eventually,
  waitUntil,
  withDeadline,
} from './testUtils';

const databases = createTestDatabases();

it.each(databases.eachSupportedId())('offers %s', async id => {
  const knex = await databases.init(id);
  const { rows } = await knex.raw('show server_version');
  expect(rows[0].server_version).toContain(`${id.replace('POSTGRES_', '')}.`);
});

describe('a wait', () => {
  const never = new Promise<never>(() => {});
  const soon = { withinMs: 20 };

  it('ends with what it waited for', async () => {
    let looks = 0;
    const look = () => (looks += 1) > 2 && 'seen';
    await expect(waitUntil('it', look)).resolves.toBe('seen');
    const attempt = async () => {
      looks += 1;
      expect(looks).toBeGreaterThan(5);
      return looks;
    };
    await expect(eventually(attempt)).resolves.toBe(6);
    await expect(withDeadline('it', Promise.resolve(7))).resolves.toBe(7);
  });

  it('fails once its deadline has passed, and says what it waited for', async () => {
    const inVain = /^Waited 20 ms in vain for it$/;
    await expect(withDeadline('it', never, soon)).rejects.toThrow(inVain);
    await expect(waitUntil('it', () => false, soon)).rejects.toThrow(inVain);
    // What it looks at may hang as well.
    await expect(waitUntil('it', () => never, soon)).rejects.toThrow(inVain);
    await expect(eventually(() => expect(1).toBe(2), soon)).rejects.toThrow(
      'Expected: 2',
    );
  });

  it('stops to look once its deadline has passed', async () => {
    let looks = 0;
    const look = () => {
      looks += 1;
    };
    await expect(waitUntil('it', look, soon)).rejects.toThrow('in vain');
    const before = looks;
    await new Promise(resolve => setTimeout(resolve, 50));
    expect(looks - before).toBeLessThanOrEqual(1);
  });

  it('fails at once with the failure of what it waits for', async () => {
    const fails = async () => {
      throw new Error('broken');
    };
    await expect(waitUntil('it', fails)).rejects.toThrow('broken');
    await expect(withDeadline('it', fails())).rejects.toThrow('broken');
  });
});
