import { renderInTestApp } from '@backstage/frontend-test-utils';
import { fireEvent, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { itemOf } from '../../__testUtils__/mockups';
import { openContent } from '../model/editorReducer';
import { Inspector } from './Inspector';

let mockIsLoaded = false;
jest.mock('./PropsForm', () => {
  if (!mockIsLoaded) {
    throw new Error('Loading chunk 7 failed');
  }
  return { __esModule: true, default: () => <p>The form</p> };
});

it('has the properties as JSON where the form cannot be loaded, and tries again', async () => {
  const item = itemOf('text', { text: 'Hello' });
  await renderInTestApp(
    <Inspector
      state={{
        ...openContent({ name: 'Start', description: '', items: [item] }),
        selection: new Set([item.i]),
      }}
      dispatch={() => {}}
      components={[
        {
          name: 'text',
          title: 'Text',
          schema: { type: 'object' },
          defaultProps: {},
          defaultSize: { w: 1, h: 1 },
          loader: async () => () => null,
        },
      ]}
      titleOf={() => 'Text'}
      isReadOnly={false}
      onEnter={() => {}}
      onClose={() => {}}
    />,
  );
  expect(await screen.findByRole('alert')).toHaveTextContent(
    /could not be loaded.*Loading chunk 7 failed/,
  );
  expect(screen.getByRole('textbox', { name: 'Properties' })).toHaveValue(
    JSON.stringify({ text: 'Hello' }, null, 2),
  );
  mockIsLoaded = true;
  await userEvent.click(screen.getByRole('button', { name: 'Try again' }));
  expect(await screen.findByText('The form')).toBeVisible();
  expect(screen.queryByRole('alert')).toBeNull();
});

it('takes no properties as JSON that the editor cannot draw', async () => {
  const item = itemOf('container-old', { items: [] });
  const dispatch = jest.fn();
  await renderInTestApp(
    <Inspector
      state={{
        ...openContent({ name: 'Start', description: '', items: [item] }),
        selection: new Set([item.i]),
      }}
      dispatch={dispatch}
      components={[]}
      titleOf={() => 'Old'}
      isReadOnly={false}
      onEnter={() => {}}
      onClose={() => {}}
    />,
  );
  const field = screen.getByRole('textbox', { name: 'Properties' });
  const apply = screen.getByRole('button', { name: 'Apply' });
  for (const [text, problem] of [
    ['{', /Not valid JSON/],
    ['[]', /props must be an object of component properties, got a list/],
    ['{"items":[1]}', /props\.items\[0\] must be a layout item, got 1/],
  ] as const) {
    fireEvent.change(field, { target: { value: text } });
    expect(screen.getByText(problem)).toBeInTheDocument();
    expect(apply).toBeDisabled();
  }
  fireEvent.change(field, { target: { value: '{"title":"Old"}' } });
  await userEvent.click(apply);
  expect(dispatch).toHaveBeenCalledWith(
    expect.objectContaining({ props: { title: 'Old' } }),
  );
});
