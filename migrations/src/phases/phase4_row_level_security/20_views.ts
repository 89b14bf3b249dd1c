import type { Step } from '../../engine/Step';
import { TENANT_TABLES } from '../../schema/tables';
import {
  bypassesPolicies,
  readViews,
  SECURITY_INVOKER_SINCE,
} from '../../schema/views';

const STATE_KEY = 'phase4.views';

interface ChangedView {
  name: string;
  /** The option before; null if it was not set. */
  securityInvoker: string | null;
}

/** Sets security_invoker on views whose owner bypasses row-level security. */
export const views: Step = {
  name: '4_20_views',
  title: 'Let views obey row-level security',

  async up({ executor, state, reporter }) {
    const [{ supported }] = await executor.read<{ supported: boolean }>(
      `select current_setting('server_version_num')::int >= ${SECURITY_INVOKER_SINCE}
         as supported`,
    );
    let changed = (await state.get<ChangedView[]>(STATE_KEY)) ?? [];
    const found = supported ? await readViews(executor, TENANT_TABLES) : [];
    for (const view of found.filter(
      each => bypassesPolicies(each) && each.ours && !each.materialized,
    )) {
      const { name, securityInvoker, readers } = view;
      changed = [...changed, { name, securityInvoker }];
      await executor.transaction({
        title: `Set security_invoker on the view ${name}`,
        locks: `ACCESS EXCLUSIVE on ${name}, for a change of the catalog.`,
        statements: [
          `alter view ${name} set (security_invoker = true)`,
          state.put(STATE_KEY, changed),
        ],
      });
      if (readers.length > 0) {
        reporter.warn(
          `The view ${name} now reads with the rights of its reader: ` +
            `${readers.join(', ')} must be allowed to read what is under it.`,
        );
      }
    }
  },

  async down({ executor, state }) {
    for (const { name, securityInvoker } of (await state.get<ChangedView[]>(
      STATE_KEY,
    )) ?? []) {
      await executor.transaction({
        title: `Reset security_invoker of the view ${name}`,
        locks: `ACCESS EXCLUSIVE on ${name}, for a change of the catalog.`,
        statements: [
          `alter view if exists ${name} ${
            securityInvoker === null
              ? 'reset (security_invoker)'
              : `set (security_invoker = ${securityInvoker})`
          }`,
        ],
      });
    }
    await executor.execute(state.forget(STATE_KEY));
  },
};
