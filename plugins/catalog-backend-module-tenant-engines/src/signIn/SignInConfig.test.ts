import { mockServices } from '@backstage/backend-test-utils';
import type { JsonObject } from '@backstage/types';
import { SignInConfig } from './SignInConfig';

const read = (tenancy: JsonObject, session: JsonObject = { secret: 'x' }) =>
  new SignInConfig(
    mockServices.rootConfig({
      data: {
        auth: { session, providers: { tenant: {} } },
        tenancy: {
          enabled: true,
          membership: 'required',
          membershipOfDefault: 'members',
          ...tenancy,
        },
      },
    }),
  );

describe('the configuration of the sign-in of tenants', () => {
  it('is off by default, and on with its key', () => {
    const isOn = (data: JsonObject) =>
      SignInConfig.isSwitchedOn(mockServices.rootConfig({ data }));
    expect(isOn({ auth: { providers: { oidc: {} } } })).toBe(false);
    expect(isOn({ auth: { providers: { tenant: {} } } })).toBe(true);
    expect(() => read({})).not.toThrow();
  });

  it.each([
    { enabled: false },
    { membership: 'open' },
    { membershipOfDefault: 'everyone' },
  ])('is refused where others than members enter: %j', tenancy => {
    expect(() => read(tenancy)).toThrow(
      'tenancy.membershipOfDefault to members',
    );
  });

  it('is refused without a key to bind attempts by', () => {
    expect(() => read({}, {})).toThrow('auth.session.secret');
  });
});
