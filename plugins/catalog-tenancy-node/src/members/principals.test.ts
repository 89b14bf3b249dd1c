import { mockCredentials, mockServices } from '@backstage/backend-test-utils';
import { parsePrincipal, principalsOf } from './principals';

describe('parsePrincipal', () => {
  it.each([
    ['user:default/jane', 'user:default/jane'],
    ['User:Default/Jane.Doe', 'user:default/jane.doe'],
    ['GROUP:default/Team', 'group:default/team'],
    ['ci', 'ci'],
    ['external:CI', 'external:CI'],
    ['external:repo:acme/portal:ref:refs/heads/main', undefined],
    ['external:acme/portal', undefined],
    ['https://ci.example.com/job', undefined],
  ])('takes %j', (principal, stored) => {
    expect(parsePrincipal(principal)).toBe(stored ?? principal);
  });

  it.each([
    '',
    'user:jane',
    'user:default/',
    'user:a/b/c',
    'user:',
    'group:team',
    'component:default/website',
    'plugin:scaffolder',
    'tenant:acme',
    'user:default/jane doe',
    'ci\n',
    'a\0b',
    'a\ud800',
    ' ci',
  ])('refuses %j, and names it and the forms', principal => {
    expect(() => parsePrincipal(principal)).toThrow(
      expect.objectContaining({
        name: 'InputError',
        message:
          `Invalid principal: got ${JSON.stringify(
            principal,
          )}, expected a user as ` +
          'user:<namespace>/<name>, a group as group:<namespace>/<name>, or the subject ' +
          'of an external service as it is configured, such as external:<subject>',
      }),
    );
  });
});

describe('principalsOf', () => {
  const logger = mockServices.logger.mock();

  it('are the references that a user owns by, each once', async () => {
    const userInfo = mockServices.userInfo.mock({
      getUserInfo: async () => ({
        userEntityRef: 'user:default/Jane',
        ownershipEntityRefs: ['user:default/Jane', 'group:default/team'],
      }),
    });
    await expect(
      principalsOf(mockCredentials.user('user:default/jane'), {
        userInfo,
        logger,
      }),
    ).resolves.toEqual(['user:default/jane', 'group:default/team']);
  });

  it('are no subjects that a sign-in resolver claims', async () => {
    const userInfo = mockServices.userInfo.mock({
      getUserInfo: async () => ({
        userEntityRef: 'user:default/jane',
        ownershipEntityRefs: ['external:ci', 'ci'],
      }),
    });
    await expect(
      principalsOf(mockCredentials.user('user:default/jane'), {
        userInfo,
        logger,
      }),
    ).resolves.toEqual(['user:default/jane']);
  });

  it('are the reference alone of a user whom the auth plugin does not know', async () => {
    const failing = (error: object) =>
      principalsOf(mockCredentials.user('user:default/jane'), {
        logger,
        userInfo: mockServices.userInfo.mock({
          getUserInfo: async () => {
            throw Object.assign(new Error('failed'), error);
          },
        }),
      });
    await expect(failing({ statusCode: 404 })).resolves.toEqual([
      'user:default/jane',
    ]);
    await expect(failing({ statusCode: 500 })).rejects.toMatchObject({
      name: 'ServiceUnavailableError',
    });
  });

  it('is the subject of a service', async () => {
    await expect(
      principalsOf(mockCredentials.service('external:CI'), {
        userInfo: mockServices.userInfo.mock(),
        logger,
      }),
    ).resolves.toEqual(['external:CI']);
  });

  it.each(['user:default/jane', 'group:default/team'])(
    'are none of a service that calls itself %s',
    async subject => {
      await expect(
        principalsOf(mockCredentials.service(subject), {
          userInfo: mockServices.userInfo.mock(),
          logger,
        }),
      ).resolves.toEqual([]);
    },
  );
});
