import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  ArchiveWriter,
  BATCH_LENGTH,
  explainWrite,
  FORMAT,
  FORMAT_VERSION,
  readArchive,
} from './archive';

it('an export is the operator’s alone to read, in batches that are short also where its rows are long', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'archive-'));
  const file = join(folder, 'tenant.gz');
  const row = JSON.stringify({ final_entity: 'a'.repeat(300_000) });
  const count = 40;
  const writer = new ArchiveWriter(file);
  await writer.write([
    JSON.stringify({
      format: FORMAT,
      version: FORMAT_VERSION,
      tenant: { id: randomUUID(), slug: 'acme' },
      migrations: {},
      sections: [
        {
          part: 'registry',
          table: 'entities',
          columns: ['final_entity'],
          rows: count,
        },
      ],
    }),
  ]);
  for (let each = 0; each < count; each += 1) {
    await writer.write([row]);
  }
  await writer.finish();
  expect((await stat(file)).mode % 0o1000).toBe(0o600);
  const batches: number[] = [];
  await readArchive(file, 500, async (_, rows) => {
    batches.push(rows.join('').length);
  });
  expect(batches.reduce((sum, length) => sum + length, 0)).toBe(
    count * row.length,
  );
  expect(Math.max(...batches)).toBeLessThan(BATCH_LENGTH + row.length);
  await rm(folder, { recursive: true });
});

it.each(['ENOSPC', 'EDQUOT'])('a full disk is named of %s', code => {
  const error = Object.assign(new Error(code), { code, syscall: 'write' });
  expect(explainWrite('/exports/acme.gz', error)).toMatchObject({
    exitCode: 3,
    message:
      'The disk with /exports/acme.gz is full. Make room on it, and run the same command again.',
  });
});
