import {
  createExtensionTester,
  renderInTestApp,
} from '@backstage/frontend-test-utils';
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { layoutSchema, type MockupApi } from 'backstage-plugin-mockup-common';
import { itemOf, mockApi } from '../__testUtils__/mockups';
import { mockupApiRef } from '../api';
import { liveComponents } from '../components/live/liveComponents';
import { mockupComponentDataRef } from '../components/registry/MockupComponentBlueprint';
import { propsProblem } from '../components/registry/propsProblem';
import { stockComponents } from '../components/registry/stockComponents';
import { CreateDialog } from './CreateDialog';
import { TEMPLATES } from './templates';

const components = new Map(
  [...stockComponents, ...liveComponents]
    .map(extension => createExtensionTester(extension))
    .map(tester => tester.get(mockupComponentDataRef))
    .map(component => [component.name, component]),
);

describe('templates', () => {
  it.each(Object.entries(TEMPLATES))(
    'have layouts that the backend takes and the components draw: %s',
    (_, layout) => {
      expect(layoutSchema.parse(layout)).toEqual(layout);
      const problems = layout.map(({ component, props }) =>
        propsProblem(components.get(component)!.schema, props),
      );
      expect(problems.filter(Boolean)).toEqual([]);
    },
  );

  it('are those of the tenant too, which may be gone meanwhile', async () => {
    const api = mockApi();
    api.listPages.mockRejectedValueOnce(new TypeError('No answer'));
    api.listPages.mockResolvedValue([
      { path: 'ours', title: 'Our own', template: true },
      { path: 'start', title: 'No template' },
    ]);
    const onCreated = jest.fn();
    await renderInTestApp(
      <CreateDialog onCreated={onCreated} onClose={() => {}} />,
      { apis: [[mockupApiRef, api as unknown as MockupApi]] },
    );
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'The templates of the tenant could not be read',
    );
    await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
    await waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
    await userEvent.type(screen.getByRole('textbox', { name: /^Name/ }), 'B');
    await userEvent.click(screen.getByRole('button', { name: /Begin with/ }));
    await userEvent.click(
      await screen.findByRole('option', { name: 'Our own' }),
    );
    await userEvent.click(screen.getByRole('button', { name: 'Create' }));
    expect(await screen.findByText(/The template is gone/)).toBeVisible();
    expect(api.createMockup).not.toHaveBeenCalled();
    const layoutData = [itemOf('text', { text: 'Ours' })];
    api.getPage.mockResolvedValue({
      path: 'ours',
      title: 'Our own',
      layoutData,
    });
    await userEvent.click(screen.getByRole('button', { name: 'Create' }));
    await waitFor(() => expect(onCreated).toHaveBeenCalledWith('id-of-B'));
    expect(api.saveVersion).toHaveBeenCalledWith(
      'id-of-B',
      { layoutData },
      { ifMatch: '"1"' },
    );
  });
});
