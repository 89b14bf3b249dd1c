import { HttpClient, refuseLonger } from './index';

describe('HttpClient', () => {
  const platformFetch = globalThis.fetch;
  afterEach(() => {
    globalThis.fetch = platformFetch;
  });

  it("calls the platform's fetch as browsers demand it: not as a method", async () => {
    const receivers: unknown[] = [];
    globalThis.fetch = async function fetch(this: unknown) {
      receivers.push(this);
      return new Response('{}');
    };
    const client = new HttpClient('tenants', {
      discoveryApi: { getBaseUrl: async id => `http://localhost/api/${id}` },
    });
    await client.fetch('/mine');
    expect(receivers).toEqual([undefined]);
  });

  it.each([200, 404])(
    'takes the page of a proxy for no answer of the plugin (%s)',
    async status => {
      const headers = { 'Content-Type': 'text/html; charset=utf-8' };
      const client = new HttpClient('tenants', {
        discoveryApi: { getBaseUrl: async id => `http://localhost/api/${id}` },
        fetchApi: { fetch: async () => new Response('', { status, headers }) },
      });
      const error = { statusCode: status };
      await expect(client.delete('/acme')).rejects.toMatchObject(error);
      await expect(client.jsonIfThere('/acme')).rejects.toMatchObject(error);
    },
  );
});

it('ends the parsing of too long a list, for which earlier versions of zod ask', () => {
  const addIssue = jest.fn();
  const refuse = refuseLonger(1, 'at most one');
  expect(refuse([1], { addIssue })).toEqual([1]);
  expect(addIssue).not.toHaveBeenCalled();
  refuse([1, 2], { addIssue });
  expect(addIssue).toHaveBeenCalledWith({
    code: 'custom',
    message: 'at most one',
    continue: false,
  });
});
