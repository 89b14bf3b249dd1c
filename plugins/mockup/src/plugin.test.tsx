import { createFrontendModule } from '@backstage/frontend-plugin-api';
import { renderTestApp } from '@backstage/frontend-test-utils';
import { screen, within } from '@testing-library/react';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { itemOf, mockApi, mockupOf } from './__testUtils__/mockups';
import { mockupApiRef } from './api';
import { MockupComponentBlueprint } from './components/registry/MockupComponentBlueprint';
import { mockupPlugin } from './plugin';

interface KpiProps {
  label: string;
  value: number;
  unit?: string;
}

const kpi = MockupComponentBlueprint.make({
  name: 'kpi',
  params: define =>
    define<KpiProps>({
      name: 'acme-kpi',
      title: 'Figure',
      schema: {
        type: 'object',
        required: ['label', 'value'],
        properties: {
          label: { type: 'string', title: 'Label' },
          value: { type: 'number', title: 'Value' },
          unit: { type: 'string', title: 'Unit' },
        },
      },
      defaultProps: { label: 'Deployments', value: 12 },
      defaultSize: { w: 3, h: 3 },
      loader: async () =>
        function Kpi({ props: { label, value, unit } }) {
          return (
            <figure>
              <strong>{[value, unit].join(' ')}</strong>
              <figcaption>{label}</figcaption>
            </figure>
          );
        },
    }),
});

const renderAt = (address: string, ...extensions: (typeof kpi)[]) => {
  const api = mockApi(mockupOf('Start'));
  const getVersion = async () => ({
    ...(await api.getMockup('id-of-Start'))!.mockup.latestVersion!,
    layoutData: [
      itemOf('acme-kpi', { label: 'Deployments', value: 12, unit: 'a day' }),
      itemOf('header', { title: 'Beside it' }),
    ],
  });
  return renderTestApp({
    features: [
      mockupPlugin,
      createFrontendModule({ pluginId: 'app', extensions }),
    ],
    apis: [[mockupApiRef, { ...api, getVersion } as unknown as MockupApi]],
    initialRouteEntries: [address],
  });
};

const VERSION = '/mockups/id-of-Start/versions/1';

describe('the pages of the plugin', () => {
  it.each(['/mockups/id-of-Start/nothing', '/pages/start/nothing'])(
    'have nothing at %s, and say so',
    async address => {
      renderAt(address);
      expect(await screen.findByText(/not found/i)).toBeVisible();
    },
  );

  it.each([
    ['Mockups', '/mockups'],
    ['Pages', '/pages'],
  ])('have their contents in the main landmark: %s', async (name, address) => {
    renderAt(address);
    const main = await screen.findByRole('main');
    const heading = within(main).getByRole('heading', { name, level: 2 });
    expect(heading).toBeVisible();
  });
});

describe('a component that an app adds by an extension', () => {
  it('is drawn beside the stock ones', async () => {
    renderAt(VERSION, kpi);
    expect(await screen.findByText('12 a day')).toBeVisible();
    expect(
      await screen.findByRole('heading', { name: 'Beside it' }),
    ).toBeVisible();
  });

  it('is a box with its name where the app no longer has it', async () => {
    renderAt(VERSION);
    expect(await screen.findByText('acme-kpi')).toBeVisible();
  });
});
