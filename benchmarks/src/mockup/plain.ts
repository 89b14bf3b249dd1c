import express, { type Response } from 'express';
import { Pool } from 'pg';
import {
  type DatabaseConnection,
  listen,
  POOL_SIZE,
  serve,
  USER,
} from '../harness/servers';

// The alternative: the same work as a programmer would write it in a few
// minutes, with express and pg and nothing else. It trusts its callers: no
// validation, no authentication, no permissions, no audit, no metrics, no
// entity tags, no conditional requests.

interface MockupRow {
  id: string;
  name: string;
  description: string;
  owner: string;
  readers: string[];
  writers: string[];
  created_at: Date;
  updated_at: Date;
}

interface VersionRow {
  id: string;
  mockup_id: string;
  version_tag: string;
  layout_data: object[];
  created_by: string;
  created_at: Date;
}

serve<{ connection: DatabaseConnection }>(async ({ connection }) => {
  const pool = new Pool({ ...connection, max: POOL_SIZE });
  const app = express();
  // Otherwise express hashes every response, which ours, with an entity tag of
  // its own, is spared.
  app.disable('etag');
  app.use(express.json());

  app.get('/mockups/:id', (req, res, next) => {
    readMockup(req.params.id, res).catch(next);
  });

  app.post('/mockups/:id/versions', (req, res, next) => {
    saveVersion(req.params.id, req.body, res).catch(next);
  });

  async function readMockup(id: string, res: Response) {
    const mockups = await pool.query<MockupRow>(
      'SELECT * FROM mockups WHERE id = $1',
      [id],
    );
    if (mockups.rows.length === 0) {
      res.status(404).end();
      return;
    }
    const versions = await pool.query<VersionRow>(
      'SELECT * FROM mockup_versions WHERE mockup_id = $1 ORDER BY created_at DESC LIMIT 1',
      [id],
    );
    const [mockup] = mockups.rows;
    const [version] = versions.rows;
    res.json({
      id: mockup.id,
      name: mockup.name,
      description: mockup.description,
      owner: mockup.owner,
      createdAt: mockup.created_at,
      updatedAt: mockup.updated_at,
      ...toShares(mockup),
      latestVersion: version ? toVersion(version) : null,
    });
  }

  async function saveVersion(
    id: string,
    body: { layoutData: object[]; versionTag: string },
    res: Response,
  ) {
    const client = await pool.connect();
    try {
      await client.query('BEGIN');
      await client.query(
        "UPDATE mockups SET updated_at = now() at time zone 'utc' WHERE id = $1",
        [id],
      );
      const { rows } = await client.query<VersionRow>(
        `INSERT INTO mockup_versions (mockup_id, version_tag, layout_data, created_by, created_at)
         VALUES ($1, $2, $3, $4, now() at time zone 'utc') RETURNING *`,
        [id, body.versionTag, JSON.stringify(body.layoutData), USER],
      );
      await client.query('COMMIT');
      res.status(201).json(toVersion(rows[0]));
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    } finally {
      client.release();
    }
  }

  return await listen(app);
});

function toShares({ readers, writers }: MockupRow) {
  const shares = [
    ...readers.map(group => ({ group, access: 'read' })),
    ...writers.map(group => ({ group, access: 'write' })),
  ];
  return shares.length > 0 ? { shares } : {};
}

function toVersion(row: VersionRow) {
  return {
    id: row.id,
    mockupId: row.mockup_id,
    versionTag: row.version_tag,
    layoutData: row.layout_data,
    createdBy: row.created_by,
    createdAt: row.created_at,
  };
}
