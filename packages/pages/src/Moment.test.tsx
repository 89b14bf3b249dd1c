import {
  appLanguageApiRef,
  translationApiRef,
} from '@backstage/frontend-plugin-api';
import {
  mockApis,
  renderInTestApp,
  TestApiProvider,
} from '@backstage/frontend-test-utils';
import { screen } from '@testing-library/react';
import { Pages } from './ListFrame';
import { Moment, useDay } from './Moment';

function Day({ day }: { day: string }) {
  return <>{useDay()(day)}</>;
}

describe('a time', () => {
  beforeEach(() => {
    jest.useFakeTimers({
      advanceTimers: true,
      now: new Date('2026-11-20T12:00:00'),
    });
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  it.each([
    ['2026-11-20T12:00:00', 'now (Nov 20, 2026, 12:00:00 PM)'],
    ['2026-11-20T11:58:00', '2 minutes ago (Nov 20, 2026, 11:58:00 AM)'],
    ['2026-11-19T12:00:00', 'yesterday (Nov 19, 2026, 12:00:00 PM)'],
    ['2026-12-20T12:00:00', 'in 30 days (Dec 20, 2026, 12:00:00 PM)'],
  ])('%s says how long ago it is, and when exactly', async (at, text) => {
    await renderInTestApp(<Moment at={at} />);
    expect(document.querySelector('time')).toHaveTextContent(text);
  });

  it('keeps when exactly for a tooltip where there is little room', async () => {
    await renderInTestApp(<Moment at="2026-11-20T11:58:00" brief />);
    expect(screen.getByText('2 minutes ago')).toHaveAttribute(
      'title',
      'Nov 20, 2026, 11:58:00 AM',
    );
  });

  it('is a day without a time, wherever one is', async () => {
    await renderInTestApp(<Day day="2026-11-20" />);
    expect(screen.getByText('Nov 20, 2026')).toBeVisible();
  });
});

it('has numbers in the language of the page', async () => {
  const german = { getLanguage: () => ({ language: 'de' }) };
  await renderInTestApp(
    <TestApiProvider
      apis={[
        [appLanguageApiRef, german as typeof appLanguageApiRef.T],
        [translationApiRef, mockApis.translation()],
      ]}
    >
      <Pages page={41} pageSize={25} totalItems={12345} onPage={() => {}} />
    </TestApiProvider>,
  );
  expect(screen.getByText('1.001 to 1.025 of 12.345')).toBeVisible();
});
