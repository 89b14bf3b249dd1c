import { renderInTestApp } from '@backstage/frontend-test-utils';
import { PageHeader } from './PageHeader';

const titleWith = async (header: Parameters<typeof PageHeader>[0]) => {
  document.title = 'Before';
  const { unmount } = await renderInTestApp(<PageHeader {...header} />, {
    config: { app: { title: 'Portal' } },
  });
  const { title } = document;
  unmount();
  return [title, document.title];
};

it('gives the tab its title while it is there, once that is known', async () => {
  await expect(titleWith({ title: 'Start' })).resolves.toEqual([
    'Start | Portal',
    'Before',
  ]);
  await expect(titleWith({ title: 'Page', isLoading: true })).resolves.toEqual([
    'Before',
    'Before',
  ]);
});
