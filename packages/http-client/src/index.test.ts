import { HttpClient } from './index';

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
});
