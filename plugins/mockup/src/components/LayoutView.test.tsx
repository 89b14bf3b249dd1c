import {
  createExtensionTester,
  renderInTestApp,
} from '@backstage/frontend-test-utils';
import { entityRouteRef } from '@backstage/plugin-catalog-react';
import { screen, within } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import type { LayoutItem } from 'backstage-plugin-mockup-common';
import { useState } from 'react';
import { componentsOf, registryOf } from '../__testUtils__/components';
import { itemOf as item, seriousProblems } from '../__testUtils__/mockups';
import { containerComponents } from './containers/containerComponents';
import { drawnBoxes } from './grid';
import { LayoutThumbnail } from './LayoutThumbnail';
import { LayoutView } from './LayoutView';
import {
  type MockupComponent,
  MockupComponentBlueprint,
  mockupComponentDataRef,
  mockupComponentsApiRef,
} from './registry/MockupComponentBlueprint';
import { stockComponents } from './registry/stockComponents';

// A linter takes the whole address for a mistake.
const SCRIPT = 'javascript';

const stock = componentsOf(stockComponents);
const containers = componentsOf(containerComponents);

const render = (items: LayoutItem[], more: MockupComponent[] = []) =>
  renderInTestApp(<LayoutView items={items} />, {
    apis: [[mockupComponentsApiRef, registryOf(...stock, ...more)]],
    mountedRoutes: { '/catalog/:namespace/:kind/:name': entityRouteRef },
  });

const component = (more: Partial<MockupComponent>): MockupComponent => ({
  name: 'kpi',
  title: 'Figure',
  schema: {
    type: 'object',
    required: ['label'],
    properties: { label: { type: 'string' } },
  },
  defaultProps: { label: 'Deployments' },
  defaultSize: { w: 2, h: 2 },
  loader: async () => props => <b>{String(props.props.label)}</b>,
  ...more,
});

describe('the registry of components', () => {
  it('has the components of extensions, with their names', () => {
    const { name, props: _, ...kpi } = { props: 0, ...component({}) };
    const extension = MockupComponentBlueprint.make({
      name,
      params: define => define({ name, ...kpi }),
    });
    const registry = registryOf(
      ...stock,
      createExtensionTester(extension).get(mockupComponentDataRef),
    );
    expect(registry.list().map(each => each.name)).toEqual([
      ...['header', 'text', 'image', 'button', 'table', 'chart'],
      ...['entity-card', 'link-list', 'kpi'],
    ]);
    expect(registry.get('kpi')?.title).toBe('Figure');
    expect(registry.get('toString')).toBeUndefined();
  });
});

describe('containers', () => {
  const text = (i: string, more: Record<string, unknown> = {}) =>
    item('text', { text: `Text ${i}`, ...more }, { i });
  const holding = (kind: string, ...items: LayoutItem[]) =>
    item(`container-${kind}`, { title: `Some ${kind}`, items });

  it('draw the items that they hold, and those of tabs one at a time', async () => {
    await render(
      [
        holding('section', text('a'), holding('columns', text('b'), text('c'))),
        holding('tabs', text('d', { title: 'First' }), text('e')),
        item('container-section', {}, { i: 'empty' }),
      ],
      containers,
    );
    for (const i of ['a', 'b', 'c', 'd']) {
      expect(await screen.findByText(`Text ${i}`)).toBeVisible();
    }
    expect(screen.queryByText('Text e')).toBeNull();
    const tabs = screen.getByRole('tablist', { name: 'Some tabs' });
    expect(within(tabs).getByRole('tab', { name: 'First' })).toBeVisible();
    await userEvent.click(within(tabs).getByRole('tab', { name: 'Tab 2' }));
    expect(await screen.findByText('Text e')).toBeVisible();
    expect(screen.getByText('Nothing is in it yet.')).toBeVisible();
    expect(await seriousProblems()).toEqual([]);
  });
});

describe('the drawing of a layout', () => {
  it('draws each stock component with its default properties, and with more', async () => {
    await render([
      ...stock.map(({ name, defaultProps }, at) =>
        item(name, defaultProps as Record<string, unknown>, { y: at * 4 }),
      ),
      item('header', { title: 'Start', subtitle: 'of all' }, { i: 'a' }),
      item('image', { src: '/logo.png', alt: 'A logo' }, { i: 'b' }),
      item('chart', { type: 'line', data: [] }, { i: 'c' }),
    ]);
    expect(
      await screen.findByRole('heading', { name: 'Start', level: 2 }),
    ).toBeVisible();
    expect(screen.getByText('Text of the page.')).toBeVisible();
    expect(screen.getByRole('img', { name: 'A logo' })).toHaveAttribute(
      'src',
      '/logo.png',
    );
    expect(screen.getByRole('button', { name: 'Button' })).toBeVisible();
    expect(screen.getByRole('table', { name: 'Table' })).toHaveTextContent(
      'websiteteam-ahealthy',
    );
    expect(
      screen.getByRole('img', { name: /Deployments. Mon: 3, Tue: 7/ }),
    ).toBeVisible();
    expect(screen.getByRole('link', { name: 'example' })).toHaveAttribute(
      'href',
      '/catalog/default/component/example',
    );
    // A link that each portal has.
    expect(screen.getByRole('link', { name: 'Home' })).toHaveAttribute(
      'href',
      '/',
    );
    expect(screen.queryByText(/do not fit|not be drawn/)).toBeNull();
    expect(await seriousProblems()).toEqual([]);
  });

  it('draws a component of another portal as a box with its name', async () => {
    await render([item('weather', { city: 'Zürich' })]);
    expect(await screen.findByText('weather')).toBeVisible();
    expect(
      screen.getByText('This portal has no such component.'),
    ).toBeVisible();
  });

  it.each([
    ['header', { title: 7 }, 'props/title must be string'],
    ['table', { columns: 'a' }, "must have required property 'rows'"],
    ['chart', { data: [{ label: 'a' }] }, 'props/data/0'],
    ['entity-card', { entityRef: '<b>' }, 'must match pattern'],
  ])(
    'says what does not fit in the properties of a %s',
    async (name, props, problem) => {
      await render([item(name, props), item('text', { text: 'Beside it' })]);
      expect(
        await screen.findByText(/The properties do not fit/),
      ).toHaveTextContent(problem);
      expect(await screen.findByText('Beside it')).toBeVisible();
    },
  );

  it('asks again for the code of a component that has not come', async () => {
    jest.spyOn(console, 'error').mockImplementation(() => {});
    const { loader } = component({});
    const kpi = component({
      loader: jest
        .fn(loader)
        .mockRejectedValueOnce(new Error('Loading chunk 7 failed')),
    });
    const items = [item('kpi', { label: 'Deployments' })];
    const { unmount } = await render(items, [kpi]);
    expect(await screen.findByText(/Loading chunk 7 failed/)).toBeVisible();
    unmount();
    await render(items, [kpi]);
    expect(await screen.findByText('Deployments')).toBeVisible();
  });

  it('keeps an error of one component from the others, until it can be drawn', async () => {
    jest.spyOn(console, 'error').mockImplementation(() => {});
    const kpi = component({
      loader: async () =>
        function Kpi({ props }) {
          if (props.label === 'bad') {
            throw new Error('No such figure');
          }
          return <b>{String(props.label)}</b>;
        },
    });
    const chunkless = component({
      name: 'chunkless',
      title: 'Without code',
      loader: async () => {
        throw new Error('Loading chunk 7 failed');
      },
    });
    const registry = registryOf(...stock, kpi, chunkless);
    const others = [
      item('chunkless', { label: 'x' }),
      item('text', { text: 'Beside it' }),
    ];
    function Edited() {
      const [label, setLabel] = useState('bad');
      return (
        <>
          <button onClick={() => setLabel('good')}>Correct</button>
          <LayoutView items={[item('kpi', { label }), ...others]} />
        </>
      );
    }
    await renderInTestApp(<Edited />, {
      apis: [[mockupComponentsApiRef, registry]],
    });
    expect(
      await screen.findByText('It could not be drawn. No such figure'),
    ).toBeVisible();
    expect(
      await screen.findByText('It could not be drawn. Loading chunk 7 failed'),
    ).toBeVisible();
    expect(screen.getByText('Beside it')).toBeVisible();
    await userEvent.click(screen.getByRole('button', { name: 'Correct' }));
    expect(await screen.findByText('good')).toBeVisible();
  });

  it.each([
    `${SCRIPT}:alert(1)`,
    ' JavaScript:alert(1)',
    'java\nscript:alert(1)',
    `\u0001${SCRIPT}:alert(1)`,
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'http://[',
  ])('makes no link, button or image of %j', async address => {
    await render([
      item('link-list', { links: [{ label: 'There', href: address }] }),
      item('button', { label: 'Press', href: address }),
      item('image', { src: address, alt: 'A picture' }),
    ]);
    expect(await screen.findByText('There')).toBeVisible();
    expect(screen.getByRole('button', { name: 'Press' })).toBeVisible();
    expect(screen.queryByRole('link')).toBeNull();
    expect(screen.queryByRole('img')).toBeNull();
    expect(screen.getAllByText(/^Not a safe address/)).toHaveLength(3);
  });

  it.each(
    ['\uFEFF', '\u00A0', '\u2028', '\u3000'].flatMap(blank => [
      `${blank}${SCRIPT}:alert(1)`,
      `${blank}data:text/html,<script>alert(1)</script>`,
      `${blank}vbscript:x`,
      `//${SCRIPT}:alert(1)`,
    ]),
  )('links %j as what it was checked as: no code', async address => {
    await render([
      item('link-list', { links: [{ label: 'There', href: address }] }),
      item('button', { label: 'Press', href: address }),
    ]);
    expect(await screen.findByText('There')).toBeVisible();
    for (const link of screen.queryAllByRole('link')) {
      const { protocol } = new URL(
        link.getAttribute('href')!,
        'http://portal/',
      );
      expect(protocol).toBe('http:');
    }
  });

  it('draws markup as the text that it is', async () => {
    const markup = '<img src=x onerror="alert(1)">';
    await render([item('text', { text: markup })]);
    expect(await screen.findByText(markup)).toBeVisible();
  });

  it('opens addresses of other sites in a tab that cannot reach this one', async () => {
    await render([
      item('link-list', {
        links: [
          { label: 'There', href: 'https://example.com/a' },
          { label: 'Here', href: '/catalog' },
        ],
      }),
    ]);
    const there = await screen.findByRole('link', { name: /There/ });
    expect(there).toHaveAttribute('target', '_blank');
    expect(there).toHaveAttribute('rel', expect.stringContaining('noopener'));
    expect(screen.getByRole('link', { name: 'Here' })).not.toHaveAttribute(
      'target',
    );
  });

  it('draws above each item what belongs to it, in the order of reading', async () => {
    await renderInTestApp(
      <LayoutView
        items={[
          item('text', { text: 'lower' }, { i: 'lower', y: 9 }),
          item('text', { text: 'upper' }, { i: 'upper' }),
        ]}
        overlayOf={({ i }) => <mark>{i} has moved</mark>}
      />,
      { apis: [[mockupComponentsApiRef, registryOf(...stock)]] },
    );
    const marks = await screen.findAllByText(/has moved/);
    expect(marks.map(each => each.textContent)).toEqual([
      'upper has moved',
      'lower has moved',
    ]);
    const box = marks[0].closest<HTMLElement>('[data-item]')!;
    const text = await within(box).findByText('upper');
    expect(text).toBeVisible();
    // Out of reach of a mouse, and so of the keyboard.
    expect(text.closest('[inert]')).not.toBeNull();
    expect(marks[0].closest('[inert]')).toBeNull();
  });

  it('keeps to twelve columns, and cuts what is endlessly low or tall', () => {
    const boxes = drawnBoxes([
      { x: 20, y: 0, w: 4, h: 2 },
      { x: 0, y: 5, w: 99, h: 1_000_000_000 },
      { x: 1, y: 2_000_000_000, w: 2, h: 1 },
      { x: 1, y: 2_000_000_003, w: 2, h: 1 },
    ]);
    expect(boxes.map(({ box }) => box)).toEqual([
      { x: 8, y: 0, w: 4, h: 2 },
      { x: 0, y: 5, w: 12, h: 500 },
      { x: 1, y: 605, w: 2, h: 1 },
      { x: 1, y: 608, w: 2, h: 1 },
    ]);
  });
});

describe('the thumbnail of a layout', () => {
  it('has a box for each item of the upper part, and nothing to read', async () => {
    const { container } = await renderInTestApp(
      <LayoutThumbnail
        items={[
          item('header', {}),
          item('nowhere', {}, { y: 4 }),
          item('text', {}, { y: 5_000 }),
        ]}
      />,
    );
    const picture = container.querySelector('svg')!;
    expect(picture).toHaveAttribute('aria-hidden', 'true');
    expect(picture.querySelectorAll('rect')).toHaveLength(2);
  });
});
