import { inBrowser, part } from '../harness/inBrowser';
import type { User } from '../harness/Portal';
import { SIGN_IN } from '../harness/Visitor';
import { walk } from '../harness/walk';

/** Signing in, and which tenant is open then. */
export function testSignIn(): void {
  part('sign-in', () => {
    inBrowser('offers the three users, in either theme', async ({ visit }) => {
      const visitor = await visit();
      await visitor.page.goto('/');
      for (const name of Object.values(SIGN_IN)) {
        await visitor.page.getByRole('button', { name }).waitFor();
      }
      await visitor.expectAccessible();
    });

    inBrowser('takes a member to their tenant', async ({ visit }) => {
      for (const [user, tenant, title] of [
        ['anna', 'Acme', 'Routes'],
        ['peter', 'Initech', 'TPS reports'],
      ] as const) {
        const visitor = await visit();
        await visitor.signIn(user);
        await visitor.page.getByRole('link', { name: title }).waitFor();
        await visitor.tenantName.filter({ hasText: tenant }).waitFor();
        await visitor.expectNothingForeign(tenant.toLowerCase());
      }
    });

    inBrowser('asks the catalog first at the next visit', async scene => {
      const visitor = await scene.visit({ at: 'acme', as: 'anna' });
      const { page } = visitor;
      const asked: string[] = [];
      page.on('request', request => {
        const [, plugin] =
          /\/api\/(catalog|tenants)\//.exec(request.url()) ?? [];
        asked.push(...(plugin ? [plugin] : []));
      });
      await page.goto('/');
      await page.getByRole('link', { name: 'Routes' }).waitFor();
      await visitor.untilQuiet();
      expect(asked[0]).toBe('catalog');
      expect(asked.filter(plugin => plugin === 'tenants')).toHaveLength(1);
    });

    inBrowser('takes an administrator to the default tenant', async scene => {
      const visitor = await scene.visit();
      visitor.traffic.expect(['default']);
      await visitor.signIn('guest');
      await visitor.page.getByRole('link', { name: 'Stock' }).waitFor();
      await visitor.expectNothingForeign('default');
    });

    inBrowser('keeps a member out of another tenant', async ({ visit }) => {
      const visitor = await visit({ at: 'acme' });
      visitor.expectProblem(/status of 403/);
      await visitor.signIn('peter');
      await visitor.page
        .getByRole('heading', { name: 'You may not enter this tenant' })
        .waitFor();
      const link = visitor.page.getByRole('link', { name: 'Go to localhost' });
      await link.waitFor();
      const looks = await link.evaluate(element => ({
        line: getComputedStyle(element).textDecorationLine,
        isPlain:
          getComputedStyle(element).color ===
          getComputedStyle(element.parentElement!).color,
      }));
      expect(looks).toEqual({ line: 'underline', isPlain: false });
      await visitor.expectAccessible();
    });
  });
}

/** From one tenant to another. */
export function testSwitching(): void {
  part('switching', () => {
    inBrowser('leaves nothing of the old tenant in any page', async scene => {
      const visitor = await scene.visit();
      await visitor.signIn('guest');
      const { page } = visitor;
      await page.getByRole('link', { name: 'Stock' }).waitFor();
      const beside = await visitor.openPage();
      await beside.goto('/catalog/default/component/shop-frontend');
      await beside.getByRole('heading', { name: 'Shop' }).first().waitFor();

      await visitor.switchTo('Initech');
      await page.getByRole('link', { name: 'TPS reports' }).waitFor();
      await beside.getByRole('link', { name: 'TPS reports' }).waitFor();
      visitor.traffic.expect(['initech']);
      await visitor.expectNothingForeign('initech');
      expect(await beside.locator('body').innerText()).not.toMatch(/shop/i);

      await visitor.open('/catalog/default/component/tps-reports');
      await page
        .getByRole('heading', { name: 'TPS reports' })
        .first()
        .waitFor();
      // What was open before is no entity here.
      visitor.expectProblem(/status of 404/);
      await visitor.open('/catalog/default/component/shop-frontend');
      await page
        .getByText(/not found|no entity/i)
        .first()
        .waitFor();
    });

    inBrowser('goes to a hostname from a hostname', async ({ visit }) => {
      const visitor = await visit({ at: 'acme', as: 'guest' });
      visitor.traffic.expect(['acme']);
      await visitor.open('/');
      await visitor.page.getByRole('link', { name: 'Routes' }).waitFor();
      await visitor.untilQuiet();
      visitor.traffic.expect(undefined);
      await visitor.switchTo('Initech');
      await visitor.page.waitForURL(
        url => url.hostname === 'initech.localhost',
      );
      visitor.traffic.expect(['initech']);
      // Development users sign in at each hostname.
      await visitor.page.getByRole('button', { name: SIGN_IN.guest }).click();
      await visitor.page.getByRole('link', { name: 'TPS reports' }).waitFor();
      await visitor.expectNothingForeign('initech');
    });

    inBrowser('shows its list to everybody', async ({ visit }) => {
      const visitor = await visit({ as: 'guest' });
      await visitor.open('/');
      await visitor.page.getByRole('link', { name: 'Stock' }).waitFor();
      await visitor.untilQuiet();
      await visitor.switcher.click();
      await visitor.page.getByRole('option', { name: 'Acme' }).waitFor();
      await visitor.expectAccessibleAsIs();
    });

    inBrowser.each([[390], [1280]])(
      'shows many tenants with long names one below the other, and the focused one whole, at %s px',
      async ({ visit }, width) => {
        const visitor = await visit({ as: 'guest', width });
        const { page } = visitor;
        const tenants = Array.from({ length: 150 }, (_, index) => ({
          tenant_slug: `org-${index}`,
          tenant_name: `Organization for ${'many '.repeat(20)}things ${index}`,
          role: 'admin',
        }));
        await page.route(/\/api\/tenants\/mine\?/, route =>
          route.fulfill({
            json: tenants,
            headers: { 'X-Total-Count': String(tenants.length) },
          }),
        );
        await visitor.open('/');
        await visitor.untilQuiet();
        await visitor.switcher.click();
        await page.getByRole('option', { name: /things 3$/ }).waitFor();
        const rows = await page.getByRole('option').evaluateAll(options =>
          options
            .map(option => option.getBoundingClientRect())
            .map(({ left, right, top, bottom }) => ({
              left,
              right,
              top,
              bottom,
            }))
            .sort((a, b) => a.top - b.top),
        );
        for (const [index, { left, right, top }] of rows.entries()) {
          expect(left).toBeGreaterThanOrEqual(0);
          expect(right).toBeLessThanOrEqual(width);
          expect(top).toBeGreaterThanOrEqual(rows[index - 1]?.bottom ?? 0);
        }
        await page.keyboard.press('ArrowDown');
        const focused = page.locator('[role=option][data-focused] span');
        expect(
          await focused.evaluate(it => it.scrollWidth - it.clientWidth),
        ).toBe(0);
      },
    );
  });
}

/** What the menu has is what works. */
export function testMenu(): void {
  part('the menu', () => {
    inBrowser.each<[User, string, Record<string, boolean>]>([
      ['anna', 'acme', { Register: true, Tenants: false }],
      ['peter', 'initech', { Register: true, Tenants: false }],
      ['guest', 'initech', { Register: true, Tenants: true }],
    ])('has what %s can do in %s', async ({ visit }, user, at, items) => {
      const visitor = await visit({ at, as: user });
      await visitor.open('/');
      await visitor.tenantName.waitFor();
      await visitor.untilQuiet();
      for (const [name, isThere] of Object.entries(items)) {
        const link = visitor.page.getByRole('link', {
          name: new RegExp(`^${name}`),
        });
        expect([name, await link.count()]).toEqual([name, isThere ? 1 : 0]);
      }
    });
  });
}

/** Wherever the menu leads, and each tab of an entity. */
export function testWalk(): void {
  inBrowser('the menu leads a member to nothing that fails', async scene => {
    const visitor = await scene.visit({ at: 'acme', as: 'anna' });
    visitor.traffic.expect(['acme']);
    await visitor.open('/');
    await visitor.page.getByRole('link', { name: 'Routes' }).waitFor();
    const { visited, problems } = await walk(
      visitor,
      '/catalog/default/component/route-planner',
    );
    expect(problems).toEqual([]);
    expect(visited).toEqual(
      expect.arrayContaining(
        ['api-docs', 'create', 'docs', 'home', 'mockups', 'notifications'].map(
          page => `/${page}`,
        ),
      ),
    );
    await visitor.expectNothingForeign('acme');
  });
}

/** Tenants that are closed to somebody who looks at them. */
export function testLosses(): void {
  part('somebody who looks at a tenant', () => {
    inBrowser('is told that they are no member any more', async scene => {
      const { portal, visit } = scene;
      await portal.createTenant({
        slug: 'hooli',
        name: 'Hooli',
        component: 'nucleus',
        members: ['user:default/anna'],
      });
      const visitor = await visit({ at: 'hooli', as: 'anna' });
      const { page } = visitor;
      await visitor.open('/');
      await page.getByRole('link', { name: 'nucleus' }).waitFor();
      await visitor.untilQuiet();

      const anna = encodeURIComponent('user:default/anna');
      await portal.call('guest', `tenants/hooli/members/${anna}`, {
        method: 'DELETE',
      });
      visitor.expectProblem(/status of 403/, /Invalid tenant/);
      await page.getByRole('link', { name: 'APIs' }).click();
      await page
        .getByRole('heading', { name: 'You can no longer enter Hooli' })
        .waitFor();
      await visitor.expectAccessibleAsIs();
      await page.getByRole('button', { name: 'Check again' }).click();
      await page.getByText('The portal still refuses this page.').waitFor();

      // Back in, the page goes on.
      await portal.call('guest', `tenants/hooli/members/${anna}`, {
        method: 'PUT',
        body: { role: 'member' },
      });
      await portal.untilServed('hooli', 'user/default/anna');
      await page.getByRole('button', { name: 'Check again' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    });

    inBrowser('is told that the tenant is gone', async ({ portal, visit }) => {
      await portal.createTenant({
        slug: 'pied-piper',
        name: 'Pied Piper',
        component: 'compression',
        members: ['user:default/anna'],
      });
      const visitor = await visit();
      const { page } = visitor;
      await visitor.signIn('anna');
      await visitor.switchTo('Pied Piper');
      await page.getByRole('link', { name: 'compression' }).waitFor();
      await visitor.untilQuiet();

      await portal.call('guest', 'tenants/pied-piper', { method: 'DELETE' });
      visitor.expectProblem(/status of 403/, /Invalid tenant/);
      await page.getByRole('link', { name: 'APIs' }).click();
      await page
        .getByRole('heading', { name: 'You can no longer enter Pied Piper' })
        .waitFor();
      await page
        .getByRole('dialog')
        .getByRole('button', { name: 'Acme' })
        .click();
      await page.getByRole('link', { name: 'Routes' }).waitFor();
      await visitor.expectNothingForeign('acme');
    });
  });
}
