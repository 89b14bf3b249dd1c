import { MOCKUP_LIMITS } from 'backstage-plugin-mockup-common';
import { mockCredentials } from '@backstage/backend-test-utils';
import { createTestDatabases } from '@internal/postgres/testUtils';
import fc from 'fast-check';
import assert from 'node:assert';
import { isSafeKey } from '../__testUtils__/json';
import { ALICE, testBackend } from '../__testUtils__/startMockupBackend';

const databases = createTestDatabases({ versions: 'newest' });

// More of them: MOCKUP_PAYLOADS=5000.
const RUNS = Number(process.env.MOCKUP_PAYLOADS ?? 100);

// It ends with the first payload that fails and prints it: to look for a smaller one takes longer
// than a test may.
const PROPERTY = { numRuns: RUNS, endOnFailure: true };

// All of Unicode, control characters and unpaired surrogates among them.
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.string(),
  fc.constantFrom('\0', 'a\0b', '\ud800', 'x\udfff', '__proto__', '🙂', ''),
  fc.string({ minLength: 250, maxLength: 1100 }),
);
const text = fc
  .oneof(fc.string({ unit: 'binary' }), fc.string())
  .filter(value => !value.includes('\0'));

const anyJson = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    anyText,
    fc.double({ noNaN: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(anyText.filter(isSafeKey), tie('value')),
  ),
})).value;

const json = fc.letrec(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    text,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie('value')),
    fc.dictionary(text.filter(isSafeKey), tie('value')),
  ),
})).value;

const position = fc.oneof(fc.nat(), fc.constant(Number.MAX_SAFE_INTEGER));
const row = fc.nat({ max: MOCKUP_LIMITS.layoutRows / 2 });
const item = fc.record(
  {
    i: text,
    x: position,
    y: row,
    w: position.map(value => Math.max(1, value)),
    h: row.map(value => Math.max(1, value)),
    component: text,
    props: fc.dictionary(
      fc.oneof(
        text.filter(isSafeKey),
        fc.constantFrom('__proto__', 'constructor', 'toString'),
      ),
      json,
    ),
    minW: fc.nat(),
    maxH: fc.nat(),
    static: fc.boolean(),
    isResizable: fc.boolean(),
    resizeHandles: fc.uniqueArray(fc.constantFrom('s', 'w', 'e', 'ne', 'nw')),
  },
  { requiredKeys: ['i', 'x', 'y', 'w', 'h', 'component', 'props'] },
);

const validVersion = fc.record(
  {
    layoutData: fc.uniqueArray(item, {
      selector: ({ i }) => i,
      maxLength: 12,
    }),
    versionTag: text.filter(value => value.length <= 50),
  },
  { requiredKeys: ['layoutData'] },
);
const validMockup = fc.record(
  {
    name: text.filter(value => value.trim() !== '' && value.length <= 255),
    description: text.filter(value => value.length <= 1000),
  },
  { requiredKeys: ['name'] },
);
const validChange = fc
  .record(
    {
      name: text.filter(value => value.trim() !== '' && value.length <= 255),
      description: fc.option(
        text.filter(value => value.length <= 1000),
        { nil: null },
      ),
    },
    { requiredKeys: [] },
  )
  .filter(change => Object.keys(change).length > 0);

/** A body with a value somewhere in it replaced, removed or added. */
function damaged(valid: fc.Arbitrary<object>) {
  return fc
    .tuple(valid, fc.array(fc.nat(), { maxLength: 4 }), anyJson, fc.nat(2))
    .map(([body, path, value, what]) => {
      const copy = JSON.parse(JSON.stringify(body));
      let parent = copy;
      let key = pick(parent, path[0] ?? 0);
      for (const step of path.slice(1)) {
        const child = key === undefined ? undefined : parent[key];
        if (typeof child !== 'object' || child === null) {
          break;
        }
        parent = child;
        key = pick(parent, step);
      }
      if (what === 0 || key === undefined) {
        Object.assign(parent, { [key ?? 'added']: value });
      } else if (what === 1) {
        delete parent[key];
      } else {
        Object.assign(parent, { unknownField: value });
      }
      return copy;
    });
}

/**
 * Parses here instead of by `response.json()`, whose objects come from outside
 * the sandbox of the test and are deep-equal to none inside it.
 */
async function readJson(response: Response) {
  return JSON.parse(await response.text());
}

function pick(parent: object, step: number): string | undefined {
  const keys = Object.keys(parent);
  return keys[step % keys.length];
}

/** A JSON text with something in the middle cut out or written over. */
function garbled(valid: fc.Arbitrary<object>) {
  return fc
    .tuple(valid, fc.nat(), fc.nat(8), fc.string({ maxLength: 3 }))
    .map(([body, at, length, replacement]) => {
      const source = JSON.stringify(body);
      const start = at % source.length;
      return (
        source.slice(0, start) + replacement + source.slice(start + length)
      );
    });
}

describe.each(databases.eachSupportedId())('any payload on %s', id => {
  let mockupId: string;
  let baseUrl: string;

  const backend = testBackend(databases, id);

  beforeAll(async () => {
    baseUrl = `http://localhost:${backend.server.port()}/api/mockup`;
    const { body } = await backend.alice.post('/mockups', { name: 'x' });
    mockupId = body.id;
  });

  async function send(method: string, path: string, body: string) {
    const response = await fetch(`${baseUrl}${path}`, {
      method,
      headers: {
        Authorization: mockCredentials.user.header(ALICE),
        'Content-Type': 'application/json',
      },
      body,
      signal: AbortSignal.timeout(30_000),
    });
    return { status: response.status, body: await readJson(response) };
  }

  async function getLayout(versionId: string) {
    const response = await fetch(
      `${baseUrl}/mockups/${mockupId}/versions/${versionId}`,
      { headers: { Authorization: mockCredentials.user.header(ALICE) } },
    );
    return (await readJson(response)).layoutData;
  }

  const routes = [
    ['POST', '/mockups', validMockup, 201],
    ['PATCH', '/mockups/:id', validChange, 200],
    ['POST', '/mockups/:id/versions', validVersion, 201],
  ] as const;

  describe.each(routes)('sent by %s %s', (method, route, valid, success) => {
    const path = () => route.replace(':id', mockupId);

    it('is accepted and comes back deep-equal where it is valid', async () => {
      let accepted = 0;
      await fc.assert(
        fc.asyncProperty(valid, async payload => {
          const sent = JSON.stringify(payload);
          const { status, body } = await send(method, path(), sent);
          assert.strictEqual(status, success, JSON.stringify(body));

          for (const [key, value] of Object.entries(JSON.parse(sent))) {
            assert.deepStrictEqual(body[key] ?? null, value);
          }
          if (body.layoutData) {
            assert.deepStrictEqual(await getLayout(body.id), body.layoutData);
          }
          accepted += 1;
        }),
        PROPERTY,
      );
      expect(accepted).toBe(RUNS);
    });

    it('never fails on our side, and comes back deep-equal where it is accepted', async () => {
      const payloads = fc
        .oneof(
          damaged(valid).map(payload => JSON.stringify(payload)),
          anyJson.map(payload => JSON.stringify(payload)),
          garbled(valid),
          anyText,
        )
        // As it goes over the wire, where a lone surrogate has no form.
        .map(payload => Buffer.from(payload).toString());
      let accepted = 0;
      let refused = 0;
      await fc.assert(
        fc.asyncProperty(payloads, async sent => {
          const { status, body } = await send(method, path(), sent);
          if (status === success) {
            accepted += 1;
            if (body.layoutData) {
              // As JSON has it, which knows no -0: a tiny number is one once it is parsed.
              const { layoutData } = JSON.parse(
                JSON.stringify(JSON.parse(sent)),
              );
              assert.deepStrictEqual(await getLayout(body.id), layoutData);
            }
          } else {
            refused += 1;
            assert.strictEqual(status, 400, JSON.stringify(body));
            assert.strictEqual(body.error.name, 'InputError');
          }
        }),
        PROPERTY,
      );
      // Neither branch may have gone untried.
      expect(accepted).toBeGreaterThan(0);
      expect(refused).toBeGreaterThan(0);
    });
  });
});
