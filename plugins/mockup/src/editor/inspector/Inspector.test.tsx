import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { componentThatShows } from '../../__testUtils__/components';
import { itemOf } from '../../__testUtils__/mockups';
import { mockupComponentsApiRef } from '../../components/registry/MockupComponentBlueprint';
import { openContent } from '../model/editorReducer';
import { Inspector } from './Inspector';

let mockIsLoaded = false;
jest.mock('./PropsForm', () => {
  if (!mockIsLoaded) {
    throw new Error('Loading chunk 7 failed');
  }
  return { __esModule: true, default: () => <p>The form</p> };
});

it('says so where the form cannot be loaded, and tries again', async () => {
  const item = itemOf('text', { text: 'Hello' });
  await renderInTestApp(
    <Inspector
      state={{
        ...openContent({ name: 'Start', description: '', items: [item] }),
        selection: new Set([item.i]),
      }}
      dispatch={() => {}}
      isReadOnly={false}
      onEnter={() => {}}
      onClose={() => {}}
    />,
    { apis: [[mockupComponentsApiRef, componentThatShows('text', 'Text')]] },
  );
  expect(await screen.findByRole('alert')).toHaveTextContent(
    /could not be loaded.*Loading chunk 7 failed/,
  );
  mockIsLoaded = true;
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(await screen.findByText('The form')).toBeVisible();
  expect(screen.queryByRole('alert')).toBeNull();
});
