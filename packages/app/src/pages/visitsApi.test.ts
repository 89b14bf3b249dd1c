import type { VisitsApi } from '@backstage/plugin-home';
import { withTitles } from './visitsApi';

/** Visits as they are saved by a listener that takes the title at once. */
function listen() {
  const save = jest.fn(async ({ visit }) => visit);
  const list = jest.fn(async () => []);
  class Visits {
    save = save;
    list = list;
  }
  const visits = withTitles(new Visits() as unknown as VisitsApi, 'Portal');
  return {
    visits,
    saved: () => save.mock.calls.map(([{ visit }]) => visit.name),
    visit: (name = document.title) =>
      visits.save({ visit: { name, pathname: window.location.pathname } }),
  };
}

const comeTo = (path: string, title: string) => {
  window.history.replaceState(null, '', path);
  document.title = title;
};

describe('a visit', () => {
  beforeEach(() => comeTo('/pages/start', 'Portal'));

  it.each(['Portal', 'What was open before'])(
    'has the title that the page has later, where it was %s at first',
    async before => {
      comeTo('/pages/start', before);
      const { visit, saved } = listen();
      const visiting = visit();
      document.title = 'Portal';
      await Promise.resolve();
      document.title = 'Welcome | Portal';
      await visiting;
      expect(saved()).toEqual(['Welcome']);
    },
  );

  it('keeps its name where that is of the address', async () => {
    const { visit, saved } = listen();
    await visit('lamp');
    expect(saved()).toEqual(['lamp']);
  });

  it('has no title of the next page', async () => {
    const { visit, saved } = listen();
    comeTo('/mockups/trash', 'Trash | Portal');
    const visiting = visit();
    comeTo('/pages', 'Pages | Portal');
    await visiting;
    expect(saved()).toEqual(['Trash']);
  });

  it('has the title of its time where no other comes', async () => {
    jest.useFakeTimers();
    const { visit, saved } = listen();
    const visiting = visit();
    jest.runAllTimers();
    await visiting;
    expect(saved()).toEqual(['Portal']);
    jest.useRealTimers();
  });

  it('is listed as before', async () => {
    await expect(listen().visits.list()).resolves.toEqual([]);
  });
});
