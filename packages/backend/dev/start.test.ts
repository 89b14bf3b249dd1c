import { spawn, spawnSync } from 'child_process';
import { rmSync, writeFileSync } from 'fs';
import { text } from 'stream/consumers';
import { Clone } from './__fixtures__/clone';
import { firstCommands } from './banner';

jest.setTimeout(120_000);

const READY = 'Ctrl-C stops everything';

const hasCurl = spawnSync('curl', ['--version']).status === 0;

async function request(clone: Clone, path: string, options: RequestInit = {}) {
  const session = await fetch(`${clone.url}/api/auth/guest/refresh`);
  const { token } = (await session.json()).backstageIdentity;
  const response = await fetch(`${clone.url}/api/${path}`, {
    ...options,
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
    },
  });
  return await response.json();
}

describe('npm start', () => {
  let clone: Clone;

  beforeAll(async () => {
    clone = await Clone.create();
  });

  afterAll(() => clone.remove());

  it('serves, stops when asked to, and keeps the data', async () => {
    const first = await clone.start(READY);
    expect(first.output).toContain(clone.dataFolder);
    const { id } = await request(clone, 'mockup/mockups', {
      method: 'POST',
      body: JSON.stringify({ name: 'Kept' }),
    });
    first.child.kill('SIGINT');
    expect(await first.exited).toBe(0);
    expect(await clone.isQuiet()).toBe(true);

    const second = await clone.start(READY);
    const kept = await request(clone, `mockup/mockups/${id}`);
    expect(kept).toMatchObject({ name: 'Kept', owner: 'user:default/guest' });
    second.child.kill('SIGKILL');
    expect(await clone.isQuiet()).toBe(true);
  });

  describe('once it runs', () => {
    beforeAll(async () => {
      await clone.start(READY);
    });

    it('does not start a second time', async () => {
      const { output, exited } = await clone.start(READY);
      expect(output).toMatch(new RegExp(`^Port ${clone.port} is taken.*\n$`));
      expect(await exited).toBe(1);
    });

    (hasCurl ? describe : describe.skip)('on a machine with curl', () => {
      it('has printed requests that work', async () => {
        const script = firstCommands(clone.url).join('\n');
        const shell = spawn('sh', ['-c', script]);
        const answer = JSON.parse(await text(shell.stdout));
        expect(answer).toMatchObject({ name: 'My first mockup' });
      });
    });
  });
});

describe('npm start in a clone with a broken data folder', () => {
  it('says what is wrong, and starts nothing', async () => {
    const clone = await Clone.create();
    writeFileSync(clone.dataFolder, '');
    const { output, exited } = await clone.start(READY);
    expect(output).toBe(`${clone.dataFolder} is not a folder\n`);
    expect(await exited).toBe(1);
    rmSync(clone.dataFolder);
    await clone.remove();
  });
});
