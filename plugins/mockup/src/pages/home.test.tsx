import { mockApis, renderInTestApp } from '@backstage/frontend-test-utils';
import { AuthorizeResult } from '@backstage/plugin-permission-common';
import { permissionApiRef } from '@backstage/plugin-permission-react';
import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { Link, useLocation } from 'react-router-dom';
import { mockupApiRef } from '../api';
import { pagesRouteRef } from '../routes';
import { PublishDialog } from './PublishDialog';
import { useHomePage } from './useHomePage';

function Frame() {
  const home = useHomePage();
  const { pathname } = useLocation();
  return (
    <>
      <p>At {pathname}</p>
      <p>{home ? `Home is ${home}` : 'No home'}</p>
      <Link to="/">Root</Link>
    </>
  );
}

const render = (getHomePage: () => Promise<unknown>, at: string) =>
  renderInTestApp(<Frame />, {
    apis: [[mockupApiRef, { getHomePage } as unknown as MockupApi]],
    mountedRoutes: { '/pages': pagesRouteRef },
    initialRouteEntries: [at],
  });

describe('the home page', () => {
  it('is shown where the app was opened at its root, and then only where somebody goes there', async () => {
    await render(async () => ({ path: 'start' }), '/');
    expect(await screen.findByText('At /pages/start')).toBeVisible();
    expect(screen.getByText('Home is /pages/start')).toBeVisible();
    await userEvent.click(screen.getByRole('link', { name: 'Root' }));
    expect(await screen.findByText('At /')).toBeVisible();
  });

  it('is not shown where the app was opened elsewhere', async () => {
    await render(async () => ({ path: 'start' }), '/mockups');
    expect(await screen.findByText('Home is /pages/start')).toBeVisible();
    expect(screen.getByText('At /mockups')).toBeVisible();
  });

  it.each([
    ['there is none', async () => undefined],
    [
      'the backend fails',
      async () => {
        throw new Error('It is away');
      },
    ],
  ])('changes nothing where %s', async (_, getHomePage) => {
    await render(getHomePage, '/');
    expect(await screen.findByText('No home')).toBeVisible();
    expect(screen.getByText('At /')).toBeVisible();
  });
});

describe('the dialog that publishes', () => {
  it('does not offer the home page to those who may not choose it', async () => {
    const { DENY } = AuthorizeResult;
    await renderInTestApp(
      <PublishDialog
        mockup={{ id: 'one', name: 'Start' }}
        versionId="v1"
        versionTitle="first"
        onPublished={() => {}}
        onClose={() => {}}
      />,
      {
        apis: [
          [mockupApiRef, {} as MockupApi],
          [permissionApiRef, mockApis.permission({ authorize: DENY })],
        ],
      },
    );
    await screen.findByRole('checkbox', { name: /as a template/ });
    expect(
      screen.queryByRole('checkbox', { name: /Make it the home page/ }),
    ).not.toBeInTheDocument();
  });
});
