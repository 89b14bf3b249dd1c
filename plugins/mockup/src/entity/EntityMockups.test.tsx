import type { Entity } from '@backstage/catalog-model';
import {
  createExtensionTester,
  renderInTestApp,
} from '@backstage/frontend-test-utils';
import { EntityProvider } from '@backstage/plugin-catalog-react';
import { EntityContentBlueprint } from '@backstage/plugin-catalog-react/alpha';
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { MockupApi } from 'backstage-plugin-mockup-common';
import { componentThatShows } from '../__testUtils__/components';
import {
  itemOf,
  mockApi,
  mockupOf,
  refusal,
  seriousProblems,
} from '../__testUtils__/mockups';
import { mockupApiRef } from '../api';
import { mockupComponentsApiRef } from '../components/registry/MockupComponentBlueprint';
import { rootRouteRef } from '../routes';
import { entityMockupsContent } from '../plugin';
import { MOCKUPS_ANNOTATION } from './annotation';
import { EntityMockups } from './EntityMockups';
import { EntityPage } from './EntityPage';

const entityOf = (mockups?: string): Entity => ({
  apiVersion: 'backstage.io/v1alpha1',
  kind: 'Component',
  metadata: {
    name: 'website',
    ...(mockups !== undefined && {
      annotations: { [MOCKUPS_ANNOTATION]: mockups },
    }),
  },
});

const render = (api: ReturnType<typeof mockApi>, mockups: string) =>
  renderInTestApp(
    <EntityProvider entity={entityOf(mockups)}>
      <EntityMockups />
    </EntityProvider>,
    {
      apis: [[mockupApiRef, api as unknown as MockupApi]],
      mountedRoutes: { '/mockups': rootRouteRef },
    },
  );

describe('the mockups of an entity', () => {
  it('are those that its annotation names, each once', async () => {
    const api = mockApi(mockupOf('Start'), mockupOf('Team'), mockupOf('Other'));
    const { container } = await render(
      api,
      ' id-of-Team,id-of-Start ,, id-of-Team',
    );
    expect(await screen.findByRole('link', { name: 'Team' })).toHaveAttribute(
      'href',
      '/mockups/id-of-Team',
    );
    const links = await screen.findAllByRole('link');
    expect(links.map(each => each.textContent)).toEqual(['Team', 'Start']);
    await waitFor(() =>
      expect(container.querySelectorAll('rect')).toHaveLength(2),
    );
    expect(await seriousProblems()).toEqual([]);
  });

  it('names the ones that are missing or fail beside those that are there', async () => {
    const api = mockApi(mockupOf('Start'), mockupOf('Team'));
    const answer = api.getMockup.getMockImplementation()!;
    const failure = await refusal(503, 'ServiceUnavailableError', 'It is away');
    api.getMockup.mockImplementation(async id => {
      if (id === 'id-of-Team') {
        throw failure;
      }
      return answer(id);
    });
    await render(api, 'gone,id-of-Team,id-of-Start');
    expect(await screen.findByRole('link', { name: 'Start' })).toBeVisible();
    expect(
      await screen.findByText(
        'There is no mockup gone, or you may not see it.',
      ),
    ).toBeVisible();
    expect(await screen.findByRole('alert')).toHaveTextContent('It is away');
    api.getMockup.mockImplementation(answer);
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByRole('link', { name: 'Team' })).toBeVisible();
  });

  it('have a tab on the page of an entity with the annotation alone', () => {
    const isShown = createExtensionTester(entityMockupsContent).get(
      EntityContentBlueprint.dataRefs.filterFunction,
    )!;
    expect(isShown(entityOf('id-of-Start'))).toBe(true);
    expect(isShown(entityOf())).toBe(false);
  });
});

describe('the page of the kind of an entity', () => {
  const components = componentThatShows('text', 'Text');
  const renderPage = async (getPage: MockupApi['getPage']) =>
    renderInTestApp(
      <EntityProvider entity={entityOf()}>
        <EntityPage />
      </EntityProvider>,
      {
        apis: [
          [mockupApiRef, { getPage } as unknown as MockupApi],
          [mockupComponentsApiRef, components],
        ],
      },
    );

  it('is filled in with the entity', async () => {
    await renderPage(async path => ({
      path,
      title: 'Of components',
      layoutData: [itemOf('text', { text: `At ${path}: {{entity}}` })],
    }));
    expect(
      await screen.findByText('At component: component:default/website'),
    ).toBeVisible();
  });
});
