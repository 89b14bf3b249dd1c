import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen, waitFor, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type {
  PutTenantSignIn,
  TenantsApi,
  TenantSignIn,
} from 'backstage-plugin-tenants-common';
import { tenantsApiRef } from '../../../api';
import { refusal, seriousProblems } from '../../__testUtils__/registry';
import { SignIn } from './SignIn';
import { toProvider, toTexts } from './signInTexts';

const PROVIDER: PutTenantSignIn = {
  issuer: 'https://id.acme.example',
  client_id: 'portal',
  client_secret: '${ACME_SECRET}',
  auto_join: 'viewer',
  allowed_domains: ['acme.example', 'acme.test'],
  roles: { 'cn=staff:it': 'member', bosses: 'admin' },
};

const stored = (provider: PutTenantSignIn): TenantSignIn => ({
  ...provider,
  updated_by: 'user:default/anna',
  updated_at: '2026-11-20T10:00:00.000Z',
});

/** The sign-in of a tenant, whose changes it keeps. */
async function render(
  before?: PutTenantSignIn,
  { isOn = true, ...more }: Partial<TenantsApi> & { isOn?: boolean } = {},
) {
  let provider = before && stored(before);
  const api = {
    getSignIn: jest.fn(async () => provider),
    putSignIn: jest.fn(async (_slug: string, request: PutTenantSignIn) => {
      provider = stored(request);
      return provider;
    }),
    removeSignIn: jest.fn(async () => {
      provider = undefined;
    }),
    ...more,
  };
  await renderInTestApp(<SignIn slug="acme" />, {
    apis: [[tenantsApiRef, api as unknown as TenantsApi]],
    config: {
      app: { baseUrl: 'https://portal.example' },
      backend: { baseUrl: 'https://portal.example' },
      ...(isOn && { auth: { providers: { tenant: {} } } }),
    },
  });
  return api;
}

const REDIRECT_URL = /\/api\/auth\/tenant\/handler\/frame\?tenant=acme$/;
const press = async (name: string | RegExp) =>
  userEvent.click(await screen.findByRole('button', { name }));
const openDialog = async (name: string) => {
  await press(name);
  return within(await screen.findByRole('dialog'));
};

describe('the sign-in of a tenant', () => {
  it('shows the provider, what it gives, and where it has to lead back to', async () => {
    await render(PROVIDER);
    for (const text of [
      'https://id.acme.example',
      '${ACME_SECRET}',
      'acme.example, acme.test',
      'cn=staff:it: member, bosses: admin',
      'Viewer',
      REDIRECT_URL,
      /by user:default\/anna/,
    ]) {
      expect(await screen.findByText(text)).toBeVisible();
    }
    expect(await seriousProblems()).toEqual([]);
  });

  it('adds a provider, and shows what is wrong at its field', async () => {
    const putSignIn = jest
      .fn()
      .mockRejectedValueOnce(
        await refusal(
          400,
          'InputError',
          'Invalid sign-in: issuer must be the URL of an issuer, got "acme"; client_secret must be ${NAME}, got "s3cret"; roles.staff must be viewer, member or admin, got "boss"',
        ),
      )
      .mockImplementation(async (_slug, request) => stored(request));
    await render(undefined, { putSignIn });
    await screen.findByText(/This tenant has no provider/);
    const dialog = await openDialog('Add a provider…');
    expect(await dialog.findByText(REDIRECT_URL)).toBeVisible();
    const field = (name: RegExp) => dialog.getByRole('textbox', { name });
    await userEvent.type(field(/^Issuer/), 'acme');
    await userEvent.type(field(/^Client ID/), 'portal');
    await userEvent.type(field(/^Reference/), 's3cret');
    await userEvent.click(dialog.getByRole('button', { name: 'Save' }));
    expect(await dialog.findByText(/issuer must be the URL/)).toBeVisible();
    expect(field(/^Issuer/)).toBeInvalid();
    expect(field(/^Reference/)).toBeInvalid();
    expect(field(/^Roles by group/)).toBeInvalid();
    expect(dialog.queryByRole('alert')).toBeNull();
    expect(field(/^Client ID/)).toBeValid();
    expect(await seriousProblems()).toEqual([]);

    const replace = async (name: RegExp, text: string) => {
      await userEvent.clear(field(name));
      await userEvent.click(field(name));
      await userEvent.paste(text);
    };
    await replace(/^Issuer/, ' https://id.acme.example');
    await replace(/^Reference/, '$file: acme');
    expect(field(/^Issuer/)).toBeValid();
    await replace(/^Roles by group/, 'cn=staff:it: member\nbosses : admin');
    await userEvent.click(dialog.getByRole('button', { name: 'Save' }));
    await screen.findByRole('button', { name: 'Add a provider…' });
    expect(putSignIn).toHaveBeenLastCalledWith('acme', {
      issuer: 'https://id.acme.example',
      client_id: 'portal',
      client_secret: { $file: 'acme' },
      roles: { 'cn=staff:it': 'member', bosses: 'admin' },
    });
  });

  it('changes and removes the provider', async () => {
    const api = await render(PROVIDER);
    let dialog = await openDialog('Change the provider…');
    await userEvent.type(
      dialog.getByRole('textbox', { name: /Client ID/ }),
      '2',
    );
    await userEvent.click(dialog.getByRole('button', { name: 'Save' }));
    await screen.findByText('portal2');
    expect(screen.getByText('The provider is saved.')).toBeVisible();
    expect(api.putSignIn).toHaveBeenCalledWith('acme', {
      ...PROVIDER,
      client_id: 'portal2',
    });
    dialog = await openDialog('Remove the provider…');
    await userEvent.click(dialog.getByRole('button', { name: 'Remove' }));
    await screen.findByText(/This tenant has no provider/);
    expect(screen.getByText('The provider was removed.')).toBeVisible();
    // The button is gone, and what was around it has the focus.
    await waitFor(() => expect(document.body).not.toHaveFocus());
  });

  it.each([
    PROVIDER,
    {
      issuer: 'https://id.example',
      client_id: 'x',
      client_secret: { $file: 'acme' },
      scopes: ['offline_access', 'groups'],
      name_claim: 'nickname',
      email_claim: 'mail',
      groups_claim: 'teams',
    },
  ])('loses nothing of a provider in its form', provider => {
    expect(toProvider(toTexts(provider), provider.auto_join)).toEqual(provider);
  });
});
