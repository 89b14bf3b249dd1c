import { renderInTestApp } from '@backstage/frontend-test-utils';
import { screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { MOCKUP_FILE, type MockupApi } from 'backstage-plugin-mockup-common';
import { itemOf, mockApi, mockupOf, refusal } from '../__testUtils__/mockups';
import { mockupApiRef } from '../api';
import { ImportDialog } from './files';

async function open(api: ReturnType<typeof mockApi>) {
  const onDone = jest.fn();
  await renderInTestApp(<ImportDialog onDone={onDone} onClose={() => {}} />, {
    apis: [[mockupApiRef, api as unknown as MockupApi]],
  });
  return onDone;
}

/** Chooses a file with this in it. */
const choose = (content: object) =>
  userEvent.upload(
    screen.getByLabelText('File'),
    new File([JSON.stringify(content)], 'file.json'),
  );

/** Imports once the file is read; returns the button, for another try. */
async function submitted() {
  const submit = screen.getByRole('button', { name: 'Import' });
  await waitFor(() => expect(submit).toBeEnabled());
  await userEvent.click(submit);
  return submit;
}

/** A mockup with one version, as a file has it. */
function fileMockup(ofName: string) {
  const { name, createdAt, updatedAt } = mockupOf(ofName);
  const version = {
    layoutData: [itemOf('text')],
    createdBy: 'user:default/anna',
    createdAt,
  };
  return { name, createdAt, updatedAt, versions: [version] };
}

describe('the import of a file', () => {
  it('makes a mockup of a dashboard of Grafana, and names what it does not know', async () => {
    const api = mockApi();
    const onDone = await open(api);
    const gridPos = { x: 0, y: 0, w: 24, h: 8 };
    const dashboard = {
      title: 'Nodes',
      schemaVersion: 39,
      panels: [
        { type: 'timeseries', title: 'CPU', gridPos },
        { type: 'geomap', title: 'Where', gridPos },
      ],
    };
    await choose(dashboard);
    expect(
      await screen.findByText(
        'The dashboard “Nodes” of Grafana becomes a mockup with 2 items',
      ),
    ).toBeVisible();
    expect(screen.getByText(/become texts: Where \(geomap\)\./)).toBeVisible();

    await userEvent.click(screen.getByRole('button', { name: 'Import' }));
    expect(onDone).toHaveBeenCalledWith({ imported: 1, updated: 0 });
    const [[file]] = api.importMockups.mock.calls;
    const { schema, mockups } = JSON.parse(await (file as File).text());
    expect(schema).toBe('backstage-plugin-mockup/mockups');
    expect(mockups).toMatchObject([
      { name: 'Nodes', versions: [{ layoutData: [{ y: 0 }, { y: 8 }] }] },
    ]);
  });

  it('updates each of those that are here once', async () => {
    const api = mockApi(mockupOf('Start'));
    const onDone = await open(api);
    const start = fileMockup('Start');
    await choose({ ...MOCKUP_FILE, mockups: [start, start] });
    await screen.findByRole('radio', { name: /Update/ });
    await userEvent.click(screen.getByRole('button', { name: 'Import' }));
    await waitFor(() =>
      expect(onDone).toHaveBeenCalledWith({ imported: 1, updated: 1 }),
    );
    // A hundred others may have the name as a part of theirs.
    expect(api.listMockups).toHaveBeenCalledWith({
      search: 'Start',
      limit: 500,
    });
  });

  it('imports again what was deleted since it was found here', async () => {
    const api = mockApi(mockupOf('Start'));
    const onDone = await open(api);
    await choose({ ...MOCKUP_FILE, mockups: [fileMockup('Start')] });
    await screen.findByRole('radio', { name: /Update/ });
    await api.deleteMockup('id-of-Start');
    await userEvent.click(screen.getByRole('button', { name: 'Import' }));
    await waitFor(() =>
      expect(onDone).toHaveBeenCalledWith({ imported: 1, updated: 0 }),
    );
  });

  it('updates nothing by a file of another form, which the backend refuses', async () => {
    const api = mockApi(mockupOf('Start'));
    const onDone = await open(api);
    api.importMockups.mockRejectedValue(
      await refusal(400, 'InputError', 'Invalid file: version must be 1'),
    );
    await choose({
      ...MOCKUP_FILE,
      version: 2,
      mockups: [fileMockup('Start'), fileMockup('New')],
    });
    await submitted();
    expect(await screen.findByRole('alert')).toHaveTextContent(
      'version must be 1',
    );
    expect(api.saveVersion).not.toHaveBeenCalled();
    expect(onDone).not.toHaveBeenCalled();
  });

  it('doubles nothing where it is tried again after its answer was lost', async () => {
    const api = mockApi();
    const onDone = await open(api);
    api.importMockups.mockRejectedValueOnce(new TypeError('No answer'));
    await choose({ ...MOCKUP_FILE, mockups: [fileMockup('Start')] });
    const submit = await submitted();
    await screen.findByRole('alert');
    await userEvent.click(submit);
    await waitFor(() =>
      expect(onDone).toHaveBeenCalledWith({ imported: 1, updated: 0 }),
    );
    const [first, second] = api.importMockups.mock.calls;
    expect(first[1]?.idempotencyKey).toEqual(expect.any(String));
    expect(second).toEqual(first);
  });

  it('asks nothing about the file before while it reads another one', async () => {
    const api = mockApi(mockupOf('Start'));
    await open(api);
    await choose({ ...MOCKUP_FILE, mockups: [fileMockup('Start')] });
    const update = await screen.findByRole('radio', { name: /Update/ });
    api.listMockups.mockReturnValueOnce(new Promise(() => {}));
    await choose({ ...MOCKUP_FILE, mockups: [fileMockup('Other')] });
    await waitFor(() => expect(update).not.toBeInTheDocument());
    expect(screen.getByRole('status', { name: 'Loading…' })).toBeVisible();
  });

  it('doubles nothing where it cannot be found out what is here already', async () => {
    const api = mockApi(mockupOf('Start'));
    const onDone = await open(api);
    api.listMockups.mockRejectedValueOnce(new TypeError('No answer'));
    await choose({ ...MOCKUP_FILE, mockups: [fileMockup('Start')] });
    const submit = await submitted();
    expect(await screen.findByRole('alert')).toHaveTextContent(
      /does not answer/,
    );
    expect(api.importMockups).not.toHaveBeenCalled();
    expect(
      await screen.findByRole('radio', { name: /Update/ }),
    ).toBeInTheDocument();
    await userEvent.click(submit);
    await waitFor(() =>
      expect(onDone).toHaveBeenCalledWith({ imported: 0, updated: 1 }),
    );
  });
});
