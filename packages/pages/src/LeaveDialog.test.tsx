import { renderInTestApp } from '@backstage/frontend-test-utils';
import { act, fireEvent, screen, waitFor } from '@testing-library/react';
import { ActionDialog, LeaveDialog } from './ActionDialog';

/** The browser's, of which jsdom has none. */
class Navigation extends EventTarget {
  readonly traverseTo = jest.fn((key: string) => this.traverse(key));

  /** Goes to an entry of the history, unless a listener prevents that. */
  traverse(key: string, path = '/before'): boolean {
    const event = new Event('navigate', { cancelable: true });
    const destination = { key, url: new URL(path, window.location.href).href };
    Object.assign(event, { navigationType: 'traverse', destination });
    return this.dispatchEvent(event);
  }
}

it('asks before the browser goes back from something unsaved', async () => {
  const navigation = new Navigation();
  Object.assign(window, { navigation });
  await renderInTestApp(<LeaveDialog isChanged />);
  const goBack = (path?: string) => {
    let isGone = false;
    act(() => {
      isGone = navigation.traverse('a', path);
    });
    return isGone;
  };
  const answer = async (name: string) =>
    fireEvent.click(await screen.findByRole('button', { name }));
  // To another part of the same page.
  expect(goBack(`${window.location.pathname}?page=2`)).toBe(true);
  expect(goBack()).toBe(false);
  await answer('Stay');
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  expect(goBack()).toBe(false);
  await answer('Leave');
  await waitFor(() => expect(navigation.traverseTo).toHaveBeenCalledWith('a'));
  expect(navigation.traverseTo).toHaveReturnedWith(true);
});

it('asks where something is typed in a dialog, and has the browser ask', async () => {
  const navigation = new Navigation();
  Object.assign(window, { navigation });
  await renderInTestApp(
    <ActionDialog
      title="Delete it?"
      texts={[]}
      typed={{ label: 'Name', value: 'Start' }}
      submit="Delete"
      failed=""
      onSubmit={async () => {}}
      onClose={() => {}}
    />,
  );
  const isLeft = () =>
    fireEvent(window, new Event('beforeunload', { cancelable: true }));
  expect(isLeft()).toBe(true);
  fireEvent.input(screen.getByRole('textbox', { name: 'Name' }), {
    target: { value: 'S' },
  });
  expect(isLeft()).toBe(false);
  act(() => expect(navigation.traverse('a')).toBe(false));
  fireEvent.click(await screen.findByRole('button', { name: 'Stay' }));
  await screen.findByRole('dialog', { name: 'Delete it?' });
  expect(screen.getByRole('textbox')).toHaveValue('S');
});
